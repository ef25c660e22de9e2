// Package auth says who may ask for what: bearer tokens with scopes.
package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MinToken is how many bytes a token has at least.
const MinToken = 16

// Errors of [Keeper.Judge].
var (
	// ErrMissing: no token was shown.
	ErrMissing = errors.New("this needs a token: send Authorization: Bearer TOKEN")
	// ErrUnknown: the token is not one of those that are known.
	ErrUnknown = errors.New("the token is not known here")
	// ErrScope: the token is not for this.
	ErrScope = errors.New("the token is not for this")
)

// Keeper knows the tokens. The zero Keeper knows none, and lets nobody in. It may be
// used by several goroutines once all tokens are added.
type Keeper struct{ tokens []token }

// token is one that is known: only its hash is kept.
type token struct {
	name   string
	hash   [sha256.Size]byte
	scopes []string
}

// Add makes a token known under a name, for these scopes. Its text is not kept, and
// no error shows it.
func (k *Keeper) Add(name, text string, scopes []string) error {
	if len(text) < MinToken {
		return fmt.Errorf("the token has %d bytes; want %d or more, such as: head -c 32 /dev/urandom | base64", len(text), MinToken)
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }); i >= 0 {
		return fmt.Errorf("byte %d of the token cannot stand in a header: use letters, digits and - . _ ~ + / =", i+1)
	}
	t := token{name: name, hash: sha256.Sum256([]byte(text)), scopes: slices.Clone(scopes)}
	for i := range k.tokens {
		if k.tokens[i].hash == t.hash {
			return fmt.Errorf("it is the same as the token of %s: one of its own tells them apart", k.tokens[i].name)
		}
	}
	k.tokens = append(k.tokens, t)
	return nil
}

// Judge says whose token an Authorization header shows, and whether it is for scope.
// How long it takes says nothing about how near a wrong token is to a right one. The
// name is also returned with ErrScope.
func (k *Keeper) Judge(header, scope string) (name string, err error) {
	text, ok := bearer(header)
	if !ok {
		return "", ErrMissing
	}
	hash := sha256.Sum256([]byte(text))
	found := -1
	for i := range k.tokens {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(hash[:], k.tokens[i].hash[:]), i, found)
	}
	switch {
	case found < 0:
		return "", ErrUnknown
	case !slices.Contains(k.tokens[found].scopes, scope):
		return k.tokens[found].name, fmt.Errorf("%w: it lacks the scope %s", ErrScope, scope)
	}
	return k.tokens[found].name, nil
}

// bearer returns the token of an Authorization header.
func bearer(header string) (token string, ok bool) {
	scheme, token, ok := strings.Cut(header, " ")
	token = strings.Trim(token, " ")
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}

// Challenge is the WWW-Authenticate header that goes with an error of Judge.
func Challenge(err error, scope string) string {
	const realm = `Bearer realm="slidegate"`
	switch {
	case errors.Is(err, ErrScope):
		return fmt.Sprintf(`%s, error="insufficient_scope", scope=%q`, realm, scope)
	case errors.Is(err, ErrUnknown):
		return realm + `, error="invalid_token"`
	}
	return realm
}
