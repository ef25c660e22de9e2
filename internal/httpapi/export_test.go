package httpapi

// Routes are what can be asked for: method, path and scope of each.
func Routes() (all [][3]string) {
	for _, r := range (&api{}).routes() {
		all = append(all, [3]string{r.method, r.path, r.scope})
	}
	return all
}
