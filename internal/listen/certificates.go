package listen

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
)

// Certificates are those of a server, which can be read again while it serves.
type Certificates struct {
	cert, key, clientCA string
	live                atomic.Pointer[tls.Config]
}

// NewCertificates reads the files of a certificate and its key, in PEM. With clientCA
// clients must show a certificate that was signed by one of those in that file.
func NewCertificates(cert, key, clientCA string) (*Certificates, error) {
	c := &Certificates{cert: cert, key: key, clientCA: clientCA}
	return c, c.Reload()
}

// Files are those that Reload reads.
func (c *Certificates) Files() []string {
	files := []string{c.cert, c.key}
	if c.clientCA != "" {
		files = append(files, c.clientCA)
	}
	return files
}

// Reload reads the files again, for connections that are made from now on. If
// anything is wrong with them, those before go on.
func (c *Certificates) Reload() error {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("the certificate %s with the key %s cannot be taken: %w", c.cert, c.key, err)
	}
	next := &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"h2", "http/1.1"},
	}
	if c.clientCA != "" {
		if next.ClientCAs, err = readCA(c.clientCA); err != nil {
			return err
		}
		next.ClientAuth = tls.RequireAndVerifyClientCert
		next.SessionTicketsDisabled = true // a ticket would outlive the authority that let its client in
	}
	c.live.Store(next)
	return nil
}

func readCA(path string) (*x509.CertPool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("client_ca %s: %w", path, errors.Unwrap(err))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("client_ca %s: there is no certificate in it", path)
	}
	return pool, nil
}

// Config returns the settings of a server: each connection has the certificates that
// are in force when it is made.
func (c *Certificates) Config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		NextProtos:         []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.live.Load(), nil },
		// Never asked, as GetConfigForClient answers; a server wants to see one.
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &c.live.Load().Certificates[0], nil },
	}
}
