package gatetest_test

import "testing"

func TestLines(t *testing.T) {
	testConstructs(t, []construct{
		{
			name: "comments",
			pass: "# first\n\n  # indented\nrules words.yaml # which\nat 0s check e k=a#b -> allow remaining=1 # room\nat 0s check e k=a -> allow remaining=1 #2\n" +
				"at 0s check e k=a#b -> allow remaining=0\t# full\n",
			lines: 3,
			fail:  "rules words.yaml\nat 0s check e k=a#b # -> allow\nat 0s check e k=a#b -> allow remaining=1 # room\n",
			text:  wrong(3, "at 0s check e k=a#b -> allow remaining=1 # room", "allow remaining=1", "allow remaining=0"),
		},
		{
			name:  "blanks and ends of lines",
			pass:  "rules words.yaml\r\n\r\n\tat  0s\tcheck   e \t k=1   ->  allow   remaining=1 \r\nat 0s check e k=1 -> allow remaining=0",
			lines: 2,
			fail:  "rules words.yaml\r\nat 0s check e k=1 -> reject\r\n",
			text:  wrong(2, "at 0s check e k=1 -> reject", "reject", "allow remaining=1"),
		},
		{
			name: "quotes",
			pass: "rules words.yaml\nat 0s check e \"k=a b\" -> allow remaining=1\nat 0s check e k=\"a b\" -> allow remaining=0\n" +
				"at 0s check e \"k=a \\\"b\\\" \\\\\" -> allow remaining=1\nat 0s check e k=\"\" -> \"allow\" \"remaining=1\"\n" +
				"at 0s check e k=\"->\" -> allow\nat 0s check e \"k=# x\" -> allow remaining=1\nat 0s check e \"k=a\\nb\" -> allow remaining=1\n",
			lines: 7,
			fail:  "rules words.yaml\nat 0s check e \"k=a b\" -> allow\nat 0s check e \"k=a b\" -> \"remaining[2 per 10s]=1\"\n",
			text:  wrong(3, `at 0s check e "k=a b" -> "remaining[2 per 10s]=1"`, `"remaining[2 per 10s]=1"`, `allow "remaining[2 per 10s]=0"`),
		},
		{
			name:  "a number and x",
			pass:  "rules words.yaml\nat 0s 2x check e k=1 -> allow\nat 0s 3x check e k=1 -> reject two\nat 1s 5x check e k=2 -> allow=2 reject=3\nat 2s 1x check e k=1 -> reject=1\n",
			lines: 4,
			fail:  "rules words.yaml\nat 0s 3x check e k=1 -> allow\nat 0s 3x check e k=2 -> allow=3 reject=0\n",
			text: wrong(2, "at 0s 3x check e k=1 -> allow", "allow", "reject two retry_after=10s") + "\n" +
				wrong(3, "at 0s 3x check e k=2 -> allow=3 reject=0", "allow=3 reject=0", "allow=2 reject=1"),
		},
		{
			name:  "a range",
			pass:  "rules words.yaml\nat 0s..9s/1s check e k=1 -> allow=2 reject=8\nat 9s..9s/1s check e k=1 -> reject retry_after=1s\nat 10s..19500ms/4s 2x check e k=1 -> allow=2 reject=4\nat 18s check e k=1 -> reject\n",
			lines: 4,
			fail:  "rules words.yaml\nat 0s..9s/3s check e k=1 -> allow\nat 9s check e k=1 -> reject retry_after=2s\nat 10s..11s/500ms check e k=1 -> reject=3\n",
			text: wrong(2, "at 0s..9s/3s check e k=1 -> allow", "allow", "reject two retry_after=4s\n\t    note: at 6s") + "\n" +
				wrong(3, "at 9s check e k=1 -> reject retry_after=2s", "reject retry_after=2s", "reject two retry_after=1s") + "\n" +
				wrong(4, "at 10s..11s/500ms check e k=1 -> reject=3", "reject=3", "reject=2"),
		},
		{
			name:  "a time from the line before",
			pass:  "rules words.yaml\nat +5s check e k=1 -> allow\nat +0s check e k=1 -> allow\nat +9999999us check e k=1 -> reject retry_after=1us\nat +1us check e k=1 -> allow remaining=1\nat 15s check e k=1 -> allow\n",
			lines: 5,
			fail:  "rules words.yaml\nat +5s 2x check e k=1 -> allow\nat +5s check e k=1 -> allow\n",
			text:  wrong(3, "at +5s check e k=1 -> allow", "allow", "reject two retry_after=5s\n\t    note: at 10s"),
		},
	})
}

func TestVerbs(t *testing.T) {
	testConstructs(t, []construct{
		{
			name:  "a label and a refund",
			pass:  "rules words.yaml\nat 0s check e k=1 as one -> allow\nat 1s check e k=1 -> allow remaining=0\nat 2s refund one -> given\nat 2s refund one -> nothing\nat 2s check e k=1 as one -> allow remaining=0\nat 2s refund one -> given\n",
			lines: 6,
			fail:  "rules words.yaml\nat 0s 3x check e k=1 as last -> allow=2\nat 0s refund last -> given\n",
			text:  wrong(3, "at 0s refund last -> given", "given", "nothing"),
		},
		{
			name:  "reset",
			pass:  "rules words.yaml\nat 0s 3x check e k=1 -> allow=2 reject=1\nat 1s reset two k=1\nat 1s 3x check e k=1 -> allow=2 reject=1\n",
			lines: 2,
			fail:  "rules words.yaml\nat 0s 2x check e k=1\nat 1s reset two k=2 -> done\nat 1s check e k=1 -> allow\n",
			text: wrong(3, "at 1s reset two k=2 -> done", "done", "") + "\n" +
				wrong(4, "at 1s check e k=1 -> allow", "allow", "reject two retry_after=9s"),
		},
		{
			name:  "query",
			pass:  "rules words.yaml\nat 0s check e k=1\nat 4s query two k=1 -> \"used[2 per 10s]=1\" \"remaining[2 per 10s]=1\" \"max[2 per 10s]=2\" \"reset_after[2 per 10s]=6s\"\nat 4s query two k=2 -> \"used[2 per 10s]=0\" \"reset_after[2 per 10s]=0s\"\nat 4s 9x query two k=1 -> \"used[2 per 10s]=1\"\n",
			lines: 3,
			fail:  "rules words.yaml\nat 0s check e k=1\nat 4s query two k=1 -> \"used[2 per 10s]=2\" \"reset_after[2 per 10s]=7s\"\nat 4s query two k=1 -> allow\n",
			text: wrong(3, `at 4s query two k=1 -> "used[2 per 10s]=2" "reset_after[2 per 10s]=7s"`, `"used[2 per 10s]=2" "reset_after[2 per 10s]=7s"`, `"used[2 per 10s]=1" "reset_after[2 per 10s]=6s"`) + "\n" +
				wrong(4, `at 4s query two k=1 -> allow`, "allow", `"used[2 per 10s]=1"`),
		},
		{
			name:  "windows named with their rules",
			pass:  "rules words.yaml\nat 0s check both k=1 -> allow \"used[both-a: 2 per 1m]=1\" \"remaining[both-b: 2 per 1m]=1\" \"used[1 per 10s]=1\"\nat 1s check both k=1 -> reject \"by=1 per 10s\"\nat 1s check both k=1 -> reject \"by=both-a: 1 per 10s\"\nat 10s check both k=1 -> allow remaining=0\nat 20s check both k=1 -> reject \"by=both-a: 2 per 1m,both-b: 2 per 1m\" \"retry_after[both-b: 2 per 1m]=40s\"\nat 20s query both-a k=1 -> remaining=0 \"used[both-a: 2 per 1m]=2\"\nat 20s query both-b k=2 -> remaining=2\nat 1m check s k=1\nat 1m check s k=1 -> \"shadow=hidden: 1 per 1m\" \"used[hidden: 1 per 1m]=1\"\n",
			lines: 8,
			fail:  "rules words.yaml\nat 0s check both k=1\nat 0s check both k=1 -> \"by=both-b: 2 per 1m\" \"used[hidden: 1 per 1m]=1\"\nat 0s check nobody -> reject\nat 0s query both-a k=1 -> remaining=1\n",
			text: wrong(3, `at 0s check both k=1 -> "by=both-b: 2 per 1m" "used[hidden: 1 per 1m]=1"`, `"by=both-b: 2 per 1m" "used[hidden: 1 per 1m]=1"`,
				`reject both-a "by=both-a: 1 per 10s" "used[hidden: 1 per 1m]="`+"\n\t    note: "+`no window "hidden: 1 per 1m" came back, but "both-a: 2 per 1m", "both-a: 1 per 10s", "both-b: 2 per 1m"`) + "\n" +
				wrong(4, "at 0s check nobody -> reject", "reject", "allow\n\t    note: no rule applies to this event") + "\n" +
				wrong(5, "at 0s query both-a k=1 -> remaining=1", "remaining=1", "remaining=0"),
		},
		{
			name:  "one verdict over two events",
			pass:  "rules words.yaml\nat 0s check e k=1\nat 0s check e k=1 + e k=1 -> reject two\nat 0s check e k=1 + e k=2 -> allow remaining=0\nat 0s check e k=2 + e k=3 + e k=1 -> reject two\nat 0s query two k=3 -> \"used[2 per 10s]=0\"\nat 0s query two k=2 -> \"used[2 per 10s]=1\"\nat 0s check e k=4 + e k=4 as both -> allow\nat 0s refund both -> given\nat 0s query two k=4 -> \"used[2 per 10s]=0\"\n",
			lines: 8,
			fail:  "rules words.yaml\nat 0s check e k=1\nat 1s check e k=1 + e k=1 -> allow\n",
			text:  wrong(3, "at 1s check e k=1 + e k=1 -> allow", "allow", "reject two retry_after=9s"),
		},
		{
			name:  "a reload",
			pass:  "rules words.yaml -> forgets=\nat 0s 2x check e k=1 -> allow\nat 0s check pay k=1 v=1\nat 1s rules words-v2.yaml -> \"forgets=sums: 2.5 sum(v) per 1h,strict: 5 per 1m,ban: 0 per 1m,allow: 0 per 1m,hidden: 1 per 1m,both-a: 2 per 1m,both-a: 1 per 10s,both-b: 2 per 1m,lines: 1 per 1m,equals: 1 count where n == 2 per 1m\"\nat 1s check e k=1 -> allow remaining=0\nat 1s query sums k=1 -> \"used[2.5 sum(v) per 2h]=0\" \"used[9 per 1h]=1\"\nat +1s rules words-v2.yaml -> forgets=\nat +0s check e k=1 -> reject retry_after=8s\nrules words-v2.yaml\n",
			lines: 7,
			fail:  "rules words.yaml -> forgets=x\nat 5s rules words-v2.yaml -> forgets=\nat 5s rules words-v2.yaml -> \"forgets=two: 3 per 10s\"\n",
			text: wrong(1, "rules words.yaml -> forgets=x", "forgets=x", "forgets=") + "\n" +
				wrong(2, "at 5s rules words-v2.yaml -> forgets=", "forgets=", `"forgets=sums: 2.5 sum(v) per 1h,strict: 5 per 1m,ban: 0 per 1m,allow: 0 per 1m,hidden: 1 per 1m,both-a: 2 per 1m,both-a: 1 per 10s,both-b: 2 per 1m,lines: 1 per 1m,equals: 1 count where n == 2 per 1m"`) + "\n" +
				wrong(3, `at 5s rules words-v2.yaml -> "forgets=two: 3 per 10s"`, `"forgets=two: 3 per 10s"`, "forgets="),
		},
		{
			// The override holds through 11 November in Shanghai, which ends at
			// 16:00 in UTC.
			name:  "a start, and the end of an override",
			pass:  "start 2026-11-11T15:59:59Z\nrules until.yaml\nat 0s 4x check order user=vip -> allow=3 reject=1\nat 0s check order user=vip -> reject \"by=3 per 1m\"\nat 999999us check order user=vip cost=0 -> \"max[3 per 1m]=3\"\nat 1s check order user=vip cost=0 -> reject \"by=1 per 1m\" \"max[1 per 1m]=1\"\nat 60s check order user=vip -> allow remaining=0\nat 60s check order user=x + order user=vip -> reject \"max[3 per 1m]=\"\n",
			lines: 6,
			fail:  "rules until.yaml\nstart 2026-11-12T00:00:00+08:00\nat 0s 4x check order user=vip -> allow=3 reject=1\nat 0s check order user=vip -> \"max[1 per 1m]=3\"\n",
			text: wrong(3, "at 0s 4x check order user=vip -> allow=3 reject=1", "allow=3 reject=1", "allow=1 reject=3") + "\n" +
				wrong(4, `at 0s check order user=vip -> "max[1 per 1m]=3"`, `"max[1 per 1m]=3"`, `reject sale "max[1 per 1m]=1"`),
		},
		{
			name:  "time zero of a script that does not say",
			pass:  "rules until.yaml\nat 314d 2x check order user=vip -> allow\n",
			lines: 1,
			fail:  "rules until.yaml\nat 315d 2x check order user=vip -> allow\n",
			text:  wrong(2, "at 315d 2x check order user=vip -> allow", "allow", "reject sale retry_after=1m"),
		},
	})
}

func TestExpectations(t *testing.T) {
	testConstructs(t, []construct{
		{
			name:  "the action and the rule",
			pass:  "rules words.yaml\nat 0s 2x check e k=1 -> allow\nat 0s check e k=1 -> reject\nat 0s check e k=1 -> reject two\nat 0s check e k=1 -> two\n",
			lines: 4,
			fail:  "rules words.yaml\nat 0s check e k=1 -> allow two\nat 0s check e k=1\nat 0s check e k=1 -> two reject\nat 0s check e k=1 -> reject tow\nat 0s check e k=1 ->\n",
			text: wrong(2, "at 0s check e k=1 -> allow two", "allow two", "allow remaining=1") + "\n" +
				wrong(4, "at 0s check e k=1 -> two reject", "two reject", "reject two retry_after=10s") + "\n" +
				wrong(5, "at 0s check e k=1 -> reject tow", "reject tow", "reject two retry_after=10s") + "\n" +
				wrong(6, "at 0s check e k=1 ->", "", "reject two retry_after=10s"),
		},
		{
			name:  "a rule that is called like an action",
			pass:  "rules words.yaml\nat 0s check trap -> reject allow\nat 0s check trap -> reject never\n",
			lines: 2,
			fail:  "rules words.yaml\nat 0s check trap -> allow\n",
			text:  wrong(2, "at 0s check trap -> allow", "allow", "reject allow never"),
		},
		{
			name:  "remaining, the least of all windows",
			pass:  "rules words.yaml\nat 0s check pay k=1 v=1.25 -> allow remaining=1.25 \"remaining[9 per 1h]=8\" \"used[2.5 sum(v) per 1h]=1.25\"\nat 0s 6x check pay k=1 v=0 -> allow\nat 0s check pay k=1 v=0.001 -> remaining=1\nat 0s check pay k=1 v=0 -> remaining=0\nat 0s check other -> allow remaining=\nat 0s check e -> remaining=\n",
			lines: 6,
			fail:  "rules words.yaml\nat 0s check pay k=1 v=1.25 -> allow remaining=8\nat 0s check pay k=1 v=0 -> remaining=1.250\nat 0s check e k=1 -> remaining=\nat 0s check other -> remaining=0\n",
			text: wrong(2, "at 0s check pay k=1 v=1.25 -> allow remaining=8", "allow remaining=8", "allow remaining=1.25") + "\n" +
				wrong(3, "at 0s check pay k=1 v=0 -> remaining=1.250", "remaining=1.250", "allow remaining=1.25") + "\n" +
				wrong(4, "at 0s check e k=1 -> remaining=", "remaining=", "allow remaining=1") + "\n" +
				wrong(5, "at 0s check other -> remaining=0", "remaining=0", "allow remaining=\n\t    note: no rule applies to this event"),
		},
		{
			name:  "a limit with an equals sign",
			pass:  "rules words.yaml\nat 0s check if k=1 n=2 -> allow \"used[1 count where n == 2 per 1m]=1\" \"max[equals: 1 count where n == 2 per 1m]=1\"\nat 0s check if k=1 n=3 -> allow \"used[1 count where n == 2 per 1m]=\"\n",
			lines: 2,
			fail:  "rules words.yaml\nat 0s check if k=1 n=2 -> \"used[1 count where n == 2 per 1m]=2\"\n",
			text:  wrong(2, `at 0s check if k=1 n=2 -> "used[1 count where n == 2 per 1m]=2"`, `"used[1 count where n == 2 per 1m]=2"`, `allow "used[1 count where n == 2 per 1m]=1"`),
		},
		{
			name:  "the delay, in any unit",
			pass:  "rules sms.yaml\nat 0s check sms.send phone=1 -> allow retry_after=\nat 0s check sms.send phone=1 -> reject retry_after=1m\nat 0s check sms.send phone=1 -> retry_after=60s\nat 0s check sms.send phone=1 -> retry_after=60000ms \"reset_after[10 per 24h]=1d\" \"retry_after[1 per 60s]=60000000us\" \"retry_after[10 per 24h]=\"\nat 59999ms check sms.send phone=1 -> retry_after=1ms\nat 59999999us check sms.send phone=1 -> retry_after=1us\n",
			lines: 6,
			fail:  "rules sms.yaml\nat 0s check sms.send phone=1\nat 0s check sms.send phone=1 -> retry_after=1h\nat 0s check sms.send phone=1 -> retry_after=\nat 1ms check sms.send phone=1 -> \"retry_after[1 per 60s]=1m\"\n",
			text: wrong(3, "at 0s check sms.send phone=1 -> retry_after=1h", "retry_after=1h", "reject sms-phone retry_after=1m") + "\n" +
				wrong(4, "at 0s check sms.send phone=1 -> retry_after=", "retry_after=", "reject sms-phone retry_after=1m") + "\n" +
				wrong(5, `at 1ms check sms.send phone=1 -> "retry_after[1 per 60s]=1m"`, `"retry_after[1 per 60s]=1m"`, `reject sms-phone "retry_after[1 per 60s]=59999ms"`),
		},
		{
			name:  "the delay in events",
			pass:  "rules words.yaml\nat 0s check count -> allow\nat 0s check count -> reject count retry_after_events=2 retry_after=\n",
			lines: 2,
			fail:  "rules words.yaml\nat 0s check count\nat 0s check count -> reject retry_after_events=3\n",
			text:  wrong(3, "at 0s check count -> reject retry_after_events=3", "reject retry_after_events=3", "reject count retry_after_events=2"),
		},
		{
			name:  "never, and reasons",
			pass:  "rules words.yaml\nat 0s check ban -> reject ban never\nat 0s check ban -> never reason=limit retry_after=\nat 0s check e k=1 cost=3 -> reject two never\nat 0s check strict -> reject strict reason=missing_key\nat 0s check e k=1 -> allow reason=\n",
			lines: 5,
			fail:  "rules words.yaml\nat 0s check e k=1 -> never\nat 0s check strict -> reject strict reason=limit\nat 0s check strict -> allow\nat 0s check ban -> never ban\n",
			text: wrong(2, "at 0s check e k=1 -> never", "never", "allow remaining=1") + "\n" +
				wrong(3, "at 0s check strict -> reject strict reason=limit", "reject strict reason=limit", "reject strict reason=missing_key") + "\n" +
				wrong(4, "at 0s check strict -> allow", "allow", "reject strict reason=missing_key") + "\n" +
				wrong(5, "at 0s check ban -> never ban", "never ban", "reject ban never"),
		},
		{
			name:  "the message and the limits that refused",
			pass:  "rules sms.yaml\nat 0s check sms.send phone=1 -> by= message=\nat 0s check sms.send phone=1 -> \"message=Please wait, \\\"friend\\\".\" \"by=1 per 60s\"\nat 60s..540s/60s check sms.send phone=1\nat 541s check sms.send phone=1 -> \"by=1 per 60s,10 per 24h\"\nrules words.yaml\nat 541s check lines\nat 541s check lines -> \"message=first\\nsecond #2\"\n",
			lines: 4,
			fail:  "rules sms.yaml\nat 0s check sms.send phone=1\nat 0s check sms.send phone=1 -> message=wait\nat 0s check sms.send phone=1 -> \"by=10 per 24h\"\n",
			text: wrong(3, "at 0s check sms.send phone=1 -> message=wait", "message=wait", `reject sms-phone "message=Please wait, \"friend\"."`) + "\n" +
				wrong(4, `at 0s check sms.send phone=1 -> "by=10 per 24h"`, `"by=10 per 24h"`, `reject sms-phone "by=1 per 60s"`),
		},
		{
			name:  "shadow limits",
			pass:  "rules words.yaml\nat 0s check s k=1 -> allow shadow=\nat 0s check s k=1 -> allow \"shadow=1 per 1m\" by=\n",
			lines: 2,
			fail:  "rules words.yaml\nat 0s check s k=1 -> \"shadow=1 per 1m\"\nat 0s check s k=1 -> reject\n",
			text: wrong(2, `at 0s check s k=1 -> "shadow=1 per 1m"`, `"shadow=1 per 1m"`, "allow shadow=") + "\n" +
				wrong(3, "at 0s check s k=1 -> reject", "reject", `allow "shadow=1 per 1m"`),
		},
		{
			name:  "an event that is wrong",
			pass:  "rules sms.yaml\nat 0s check sms.send ip=nonsense -> error\nat 0s 2x check sms.send ip=nonsense -> error \"error=gate: rule sms-ip: bad event: attribute ip: \\\"nonsense\\\" is not an IP address\"\nat 0s check sms.send ip=192.0.2.1 -> allow\nat 0s check sms.send ip=192.0.2.1 + sms.send ip=7 -> error\nat 0s check sms.send ip=192.0.2.1 -> error= remaining=18\n",
			lines: 5,
			fail:  "rules sms.yaml\nat 0s check sms.send ip=x -> allow\nat 0s check sms.send ip=192.0.2.1 -> error\nat 0s 2x check sms.send ip=x -> allow=1 reject=1\n",
			text: wrong(2, "at 0s check sms.send ip=x -> allow", "allow", `error "error=gate: rule sms-ip: bad event: attribute ip: \"x\" is not an IP address"`) + "\n" +
				wrong(3, "at 0s check sms.send ip=192.0.2.1 -> error", "error", "allow remaining=19") + "\n" +
				wrong(4, "at 0s 2x check sms.send ip=x -> allow=1 reject=1", "allow=1 reject=1", "allow=0 reject=0"),
		},
	})
}
