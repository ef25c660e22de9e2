// Package replay reads recorded logs and turns each line into an event that
// carries its own time, so that yesterday's traffic can be judged by today's
// rules.
//
// A [Reader] takes files or standard input, plain or gzip, in one of these
// formats, and gives one [Record] after another:
//
//   - combined: access logs of Apache and nginx, also the common format
//     without referer and user agent, and lines with more fields behind them.
//     Attributes: ip, user, method, path, query, status, bytes, referer and
//     user_agent, and vhost where a line begins with vhost:port; "-" means absent. path is what stands before the first "?",
//     query what stands behind it, both as written. Where the request line is
//     none (a TLS handshake sent to a plain port, a lone "-") the attribute
//     request holds it as written, and method, path and query are absent.
//   - json: one object a line. An object with an object "attrs" is an event
//     in Slidegate's own shape: event, attrs, cost, passed and time; any other
//     field is an error. In every other object each field is an attribute. Texts and
//     numbers are attributes as they are, true and false as texts, members of
//     nested objects with a dot between the names; null and arrays are none.
//     A text field "event" names the event; an "event" that is no text is not
//     read.
//   - csv: RFC 4180 with a header line, separated by comma, semicolon or tab.
//     Each column is an attribute; columns without a name are not read. A
//     value that JSON would take for a number is a number, quoted or not. An
//     empty field is absent, a quoted empty field ("") is an empty text. A
//     column "event" names the event.
//   - syslog: lines of RFC 3164 and RFC 5424, and those of RFC 3164 with a time
//     in RFC 3339. Attributes: host, app, pid, facility, severity, msgid and
//     message, as far as they are there.
//   - sshd: lines of syslog in which sshd tells of a login. Attributes: user, ip,
//     port, method and result, and who wrote the line. A message that was
//     repeated is as many events.
//   - a [Pattern], whose named groups are attributes. A group that took no part
//     is absent; what JSON would take for a number is a number. A group "event"
//     names the event.
//
// The time stands in the field that [Options] names, or else in the first of
// time, timestamp, ts and @timestamp; see [TimeKind] for how it may be
// written. It is cut down to whole microseconds and must lie between 1970 and
// 2262. One file keeps to one kind of time: a second kind is an error, because
// seconds taken for milliseconds make every answer wrong. What a time does not
// say, its zone and its year, [Options] does.
//
// A line that cannot be read is never dropped in silence: it is counted, and
// the first of each reason are kept. Empty lines are no lines.
//
// [Sort] puts the events in the order of their times in bounded memory. [Judge]
// feeds them through an engine; beside it a [Comparison] judges them by other
// algorithms, and a [Candidate] by other rules.
package replay
