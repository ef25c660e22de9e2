package peer

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/RussellLuo/slidingwindow"
	"github.com/go-chi/httprate"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"
)

// IDs of the libraries that goals name: the fastest over many keys, and the
// smallest that keeps its keys.
const (
	GoLimiterID = "go-limiter"
	ThrottledID = "throttled"
)

// libraries returns the limiters of others, each used as its documentation says.
func libraries() []Limiter {
	all := []string{Speed, Memory, Exact}
	return []Limiter{
		{ID: "rate-map", Name: "x/time/rate, map+Mutex", Kind: TokenBucket, Module: "golang.org/x/time", Tables: all, Open: openRateMap},
		{ID: "rate-syncmap", Name: "x/time/rate, sync.Map", Kind: TokenBucket, Module: "golang.org/x/time", Tables: all, Open: openRateSyncMap},
		{ID: GoLimiterID, Name: "sethvargo/go-limiter memorystore", Kind: FixedInterval, Module: "github.com/sethvargo/go-limiter", Tables: all, Plenty: goLimiterPlenty(), Open: openGoLimiter},
		{ID: ThrottledID, Name: "throttled memstore", Kind: GCRA, Module: "github.com/throttled/throttled/v2", Tables: all, Open: openThrottled},
		{ID: "httprate", Name: "go-chi/httprate (headers off)", Kind: SlidingCounter, Module: "github.com/go-chi/httprate", Tables: all, Open: openHTTPRate},
		{ID: "ulule", Name: "ulule/limiter memory", Kind: FixedWindow, Module: "github.com/ulule/limiter/v3", Tables: all, Open: openUlule},
		{ID: "slidingwindow", Name: "RussellLuo/slidingwindow, map+Mutex", Kind: SlidingCounter, Module: "github.com/RussellLuo/slidingwindow", Tables: all, Open: openSlidingWindow},
	}
}

func newRate(q Quota) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(float64(q.Max)/q.Per.Seconds()), int(q.Max))
}

func openRateMap(q Quota) (Allow, func(), error) {
	allow := keyed(func() *rate.Limiter { return newRate(q) }, (*rate.Limiter).Allow)
	return allow, nil, nil
}

// keyed gives each key a limiter of its own, in a map under a mutex.
func keyed[L any](open func() *L, allow func(*L) bool) Allow {
	var mu sync.Mutex
	limiters := map[string]*L{}
	return func(key string) bool {
		mu.Lock()
		l := limiters[key]
		if l == nil {
			l = open()
			limiters[key] = l
		}
		mu.Unlock()
		return allow(l)
	}
}

func openRateSyncMap(q Quota) (Allow, func(), error) {
	var limiters sync.Map
	allow := func(key string) bool {
		l, ok := limiters.Load(key)
		if !ok {
			l, _ = limiters.LoadOrStore(key, newRate(q))
		}
		return l.(*rate.Limiter).Allow()
	}
	return allow, nil, nil
}

// goLimiterPlenty is so large that it is never used up. In short intervals the
// store hands out fewer tokens than it is asked to: interval/tokens each, in
// nanoseconds (availableTokens in memorystore/store.go).
func goLimiterPlenty() Quota { return Quota{Max: 1e12, Per: time.Hour} }

func openGoLimiter(q Quota) (Allow, func(), error) {
	s, err := memorystore.New(&memorystore.Config{Tokens: uint64(q.Max), Interval: q.Per})
	if err != nil {
		return nil, nil, err
	}
	ctx := context.Background()
	allow := func(key string) bool {
		_, _, _, ok, err := s.Take(ctx, key)
		return ok && err == nil
	}
	return allow, func() { _ = s.Close(ctx) }, nil
}

func openThrottled(q Quota) (Allow, func(), error) {
	s, err := memstore.NewCtx(0) // no ceiling: the plain map, its fastest form
	if err != nil {
		return nil, nil, err
	}
	l, err := throttled.NewGCRARateLimiterCtx(s, throttled.RateQuota{
		MaxRate: throttled.PerDuration(int(q.Max), q.Per), MaxBurst: int(q.Max) - 1,
	})
	if err != nil {
		return nil, nil, err
	}
	l.SetMaxCASAttemptsLimit(10_000) // by default the tenth lost race is an error, which would count as a refusal
	ctx := context.Background()
	allow := func(key string) bool {
		limited, _, err := l.RateLimitCtx(ctx, key, 1)
		return !limited && err == nil
	}
	return allow, nil, nil
}

// openHTTPRate uses the limiter without its handler and without headers, which
// leaves the counting.
func openHTTPRate(q Quota) (Allow, func(), error) {
	l := httprate.NewRateLimiter(int(q.Max), q.Per, httprate.WithResponseHeaders(httprate.ResponseHeaders{}))
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil)
	if err != nil {
		return nil, nil, err
	}
	w := silent{}
	return func(key string) bool { return !l.OnLimit(w, req, key) }, nil, nil
}

// silent is a response that nobody reads.
type silent struct{}

func (silent) Header() http.Header         { return http.Header{} }
func (silent) Write(b []byte) (int, error) { return len(b), nil }
func (silent) WriteHeader(int)             {}

func openUlule(q Quota) (Allow, func(), error) {
	l := limiter.New(memory.NewStore(), limiter.Rate{Period: q.Per, Limit: q.Max})
	ctx := context.Background()
	allow := func(key string) bool {
		c, err := l.Get(ctx, key)
		return !c.Reached && err == nil
	}
	return allow, nil, nil
}

func openSlidingWindow(q Quota) (Allow, func(), error) {
	open := func() *slidingwindow.Limiter {
		l, _ := slidingwindow.NewLimiter(q.Per, q.Max, func() (slidingwindow.Window, slidingwindow.StopFunc) {
			return slidingwindow.NewLocalWindow()
		})
		return l
	}
	return keyed(open, (*slidingwindow.Limiter).Allow), nil, nil
}
