package replay

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate"
)

const (
	errNoLogin    = lineError("no login")
	errRepetition = lineError("a message is repeated more than 10000 times")
)

const (
	// loginEvent is the name of the events of sshd unless another is given.
	loginEvent = "login"
	// maxRepeated is how often a message may have been repeated.
	maxRepeated = 10_000
)

// The messages of sshd that tell of a login. A user is whatever a client sent,
// spaces and all, so each expression takes the last place at which the rest of
// the message fits: the address is the one that sshd wrote behind the name, and
// not one that the name pretends.
var (
	reLogin = regexp.MustCompile(`^(Failed|Accepted|Postponed|Partial) (\S+) for (?:invalid user )?(.*) from (\S+) port (\d+) ssh2(?:: .*| \[preauth\])?$`)
	reMost  = regexp.MustCompile(`^(?:error: )?maximum authentication attempts exceeded for (?:invalid user )?(.*) from (\S+) port (\d+) ssh2(?: \[preauth\])?$`)
	reNoOne = regexp.MustCompile(`^Invalid user (.*) from (\S+)(?: port (\d+))?$`)
	reGone  = regexp.MustCompile(`^(Connection closed by|Connection reset by|Disconnected from) (?:authenticating|invalid) user (.*) (\S+) port (\d+)(?: \[preauth\])?$`)

	reRepeated = regexp.MustCompile(`^message repeated (\d+) times: \[ ?(.*)\]$`)
)

// isSSHD reports whether a program is the daemon of ssh, or one of the parts that
// it is made of by now.
func isSSHD(app string) bool {
	return app == "sshd" || app == "sshd-session" || app == "sshd-auth"
}

// login is what a message of sshd tells.
type login struct {
	result, method, user, ip, port string
	// repeated is how many logins the message stands for.
	repeated int
}

// sshdParser reads the lines of syslog that sshd wrote about logins.
type sshdParser struct {
	event string
	clock *wallClock
}

// parse fills rec from line.
func (p *sshdParser) parse(line string, rec *Record) (TimeKind, error) {
	l, err := splitSyslog(line)
	switch {
	case err != nil:
		return KindNone, err
	case !isSSHD(l.app):
		return KindNone, errNoLogin
	}
	in, err := readLogin(l.message)
	if err != nil {
		return KindNone, err
	}
	micros, kind, err := p.clock.parse(l.stamp)
	if err != nil {
		return KindNone, err
	}
	attrs := append(rec.Event.Attrs[:0], slidegate.String("user", in.user), slidegate.String("ip", in.ip))
	if in.port != "" {
		attrs = append(attrs, slidegate.Attr{Name: "port", Value: digitsValue(in.port)})
	}
	attrs = appendPresent(attrs, "method", in.method)
	attrs = append(attrs, slidegate.String("result", in.result))
	attrs = l.appendSource(attrs)
	rec.Event = slidegate.Event{Name: p.event, Attrs: attrs, Outcome: in.outcome(), Time: time.UnixMicro(micros).UTC()}
	rec.repeat = in.repeated - 1
	return kind, nil
}

// outcome says how a login went; of one that was not decided, nothing.
func (l *login) outcome() slidegate.Outcome {
	switch l.result {
	case "failed":
		return slidegate.Failure
	case "accepted":
		return slidegate.Success
	}
	return slidegate.Unknown
}

// readLogin reads a message of sshd.
func readLogin(message string) (login, error) {
	repeated := 1
	if m := reRepeated.FindStringSubmatch(message); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil || n > maxRepeated {
			return login{}, errRepetition
		}
		repeated, message = n, m[2]
	}
	in := matchLogin(message)
	in.repeated = repeated
	if _, err := netip.ParseAddr(in.ip); err != nil || repeated < 1 {
		return login{}, errNoLogin
	}
	return in, nil
}

// matchLogin returns the parts of a message, none where it tells of no login.
func matchLogin(message string) login {
	switch {
	case strings.HasPrefix(message, "Invalid user "):
		if m := reNoOne.FindStringSubmatch(message); m != nil {
			return login{result: "invalid", user: m[1], ip: m[2], port: m[3]}
		}
	case strings.HasPrefix(message, "Connection ") || strings.HasPrefix(message, "Disconnected "):
		if m := reGone.FindStringSubmatch(message); m != nil {
			return login{result: goneResult(m[1]), user: m[2], ip: m[3], port: m[4]}
		}
	case strings.Contains(message, "maximum authentication attempts"):
		if m := reMost.FindStringSubmatch(message); m != nil {
			return login{result: "exceeded", user: m[1], ip: m[2], port: m[3]}
		}
	}
	if m := reLogin.FindStringSubmatch(message); m != nil {
		return login{result: strings.ToLower(m[1]), method: m[2], user: m[3], ip: m[4], port: m[5]}
	}
	return login{}
}

// goneResult names how a connection ended.
func goneResult(words string) string {
	switch words {
	case "Connection reset by":
		return "reset"
	case "Disconnected from":
		return "disconnected"
	default:
		return "closed"
	}
}
