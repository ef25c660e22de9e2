// Package certtest makes certificates. It is for tests only.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewAuthority returns an authority called name.
func NewAuthority(tb testing.TB, name string) *Authority {
	tb.Helper()
	a := &Authority{key: newKey(tb)}
	template := newTemplate(tb, name)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	a.cert = sign(tb, template, template, &a.key.PublicKey, a.key)
	return a
}

// Pool holds the authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// PEM is the certificate of the authority.
func (a *Authority) PEM() []byte { return encode("CERTIFICATE", a.cert.Raw) }

// Issue returns a certificate for name on the loopback, for servers and clients, and
// its key.
func (a *Authority) Issue(tb testing.TB, name string) (cert, key []byte) {
	tb.Helper()
	private := newKey(tb)
	template := newTemplate(tb, name)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.DNSNames, template.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	signed := sign(tb, template, a.cert, &private.PublicKey, a.key)
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		tb.Fatal(err)
	}
	return encode("CERTIFICATE", signed.Raw), encode("EC PRIVATE KEY", der)
}

// Pair is what Issue returns, for a client or server in this process.
func (a *Authority) Pair(tb testing.TB, name string) tls.Certificate {
	tb.Helper()
	pair, err := tls.X509KeyPair(a.Issue(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	return pair
}

// Write writes what Issue returns into dir, as tls.crt and tls.key, and returns where.
func (a *Authority) Write(tb testing.TB, dir, name string) (cert, key string) {
	tb.Helper()
	c, k := a.Issue(tb, name)
	cert, key = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for path, data := range map[string][]byte{cert: c, key: k} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return cert, key
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func newTemplate(tb testing.TB, name string) *x509.Certificate {
	tb.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		tb.Fatal(err)
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
}

func sign(tb testing.TB, template, parent *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) *x509.Certificate {
	tb.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		tb.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return cert
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
