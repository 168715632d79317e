import os,shutil
os.chdir('/work/hard')
shutil.copy('/tmp/new/mutants','scripts/mutants'); shutil.copy('/tmp/new/steady','scripts/steady'); shutil.copy('/tmp/new/published.txt','tests/live/published.txt')
os.chmod('scripts/mutants',0o755); os.chmod('scripts/steady',0o755)
p='Makefile'; s=open(p).read()
s=s.replace('''check-live: all programs ## what must hold on the real machine at hand; takes minutes
	@tests/run $(BUILD) live
''','''mutants: ## N small changes in src/ (default 100), and those that no fitting test notices; takes an hour
	@scripts/mutants -n $(or $(N),100) --seed $(or $(SEED),1)
check-live: all programs ## what must hold on the machine at hand; with RUNS=N LOAD=none|other|same how steady it is
	@$(if $(RUNS),scripts/steady $(BUILD)/xray $(RUNS) $(or $(LOAD),none) $(T),tests/run $(BUILD) live)
''')
s=s.replace('all run test test-faults ','all run test test-faults mutants ')
open(p,'w').write(s)
open('.ci/run','w').write('''#!/bin/sh
# What CI runs on a clean checkout: the README's test command, warnings as errors; then what takes minutes: faults, each
# injected; the tests that matter under address, undefined-behaviour and thread sanitizers; every fuzz target on new input; one
# run under valgrind. The last line is `N passed, N failed` over all of it. XR_CI='test' for the first alone.
cd "$(dirname "$0")/.." || exit 2
export CI=1 # with the other compiler and the analyser, where there are any
export DEV=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0

# step NAME COMMAND...: its summary is counted; one that ends badly without a summary counts as one failure
step() {
	name=$1
	shift
	case " ${XR_CI:-$name} " in *" $name "*) ;; *) return ;; esac
	echo "== $name"
	{ "$@" 2>&1; echo "status $?"; } | tee "$log.step"
	ended=$(sed -n 's/^status //p' "$log.step" | tail -n 1)
	summary=$(grep -x '[0-9]* passed, [0-9]* failed' "$log.step" | tail -n 1)
	case $summary in
	'') if [ "$ended" = 0 ]; then summary='1 passed, 0 failed'; else summary='0 passed, 1 failed'; fi ;;
	*', 0 failed') [ "$ended" = 0 ] || summary='0 passed, 1 failed' ;;
	esac
	echo "$summary" >> "$log"
	[ "$ended" = 0 ] || status=1
	rm -f "$log.step"
}

# What reads, runs and writes, and the engines on machines of files; random machines would take hours.
careful='unit/test_answer unit/test_border unit/test_cache unit/test_engine unit/test_facts unit/test_output unit/test_proc
	unit/test_readings unit/test_report unit/test_session unit/test_util fuzz golden replay'
step test make test
step faults make test-faults
step asan make asan T="$careful"
step tsan make tsan T='unit/test_agent_team unit/test_session unit/test_proc'
if command -v clang > /dev/null; then
	step fuzz make fuzz SECONDS=20
fi
if command -v valgrind > /dev/null; then
	step valgrind valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite \\
		build/xray --quiet --target machines/p6.ini timer cpu.frequency op.add cache.l1d
fi
awk '{p += $1; f += $3} END {printf "%d passed, %d failed\\n", p, f; exit f > 0}' "$log" || status=1
exit $status
''')
p='tests/unit/test_report.c'; s=open(p).read()
i=s.index('int main(void)')
s=s[:i]+'''/* ??/ at the end of a comment's line would be a backslash to a C89 compiler, and the next line part of the comment. */
static void headers_have_no_trigraphs(void **state)
{
	struct page page;
	struct xr_error err;
	(void)state;
	struct xr_description *d = xr_description_new();
	json_object_set_new(xr_description_target(d), "cpu", json_string("what?\\?/ */ /* ?\\?= \\\\\\\\"));
	xr_fact_text(d, "a.b", "x?\\?/y\\\\", 0.99, "method?\\?/");
	xr_fact_note(xr_description_edit(d, "a.b"), "%s", "because?\\?/");
	xr_fact_none(d, "a.c", XR_FAILED, "%s", "never?\\?/ */");
	open_page(&page);
	assert_int_equal(xr_report_header(page.out, d, "X", 0, &err), 0);
	const char *text = close_page(&page);
	assert_null(strstr(text, "?\\?"));
	int opened = 0, closed = 0;
	for (const char *c = text; (c = strstr(c, "/*")); c += 2)
		opened++;
	for (const char *c = text; (c = strstr(c, "*/")); c += 2)
		closed++;
	assert_int_equal(opened, closed);
	free(page.text);
	xr_description_free(d);
}

/* A tenth of a cycle is what loops can tell apart: less is agreement, whatever share it is. */
static void a_tenth_of_a_cycle_is_no_difference(void **state)
{
	json_t *a = json_real(0.20), *near = json_real(0.29), *far = json_real(0.40);
	(void)state;
	assert_true(xr_values_agree(a, near, "cycles", "op.add.i32.throughput"));
	assert_false(xr_values_agree(a, far, "cycles", "op.add.i32.throughput"));
	assert_false(xr_values_agree(a, far, "ns", "x.y"));
	json_decref(a);
	json_decref(near);
	json_decref(far);
}

'''+s[i:]
s=s.replace('''	};
	return cmocka_run_group_tests(tests, NULL, NULL);''','''		cmocka_unit_test(headers_have_no_trigraphs),
		cmocka_unit_test(a_tenth_of_a_cycle_is_no_difference),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);''')
open(p,'w').write(s)
p='tests/unit/test_border.c'; s=open(p).read()
i=s.index('int main(void)')
s=s[:i]+'''/* Times of a statement whose samples disagree are told, and doubted. */
static int scattered(struct xr_target *target, const size_t *idx, size_t k, int n, struct xr_raw_list *lists,
                     struct xr_reading *out, struct xr_error *err)
{
	(void)target, (void)out, (void)err;
	for (int r = 0; r < n; r++)
		for (size_t j = 0; j < k; j++) {
			struct xr_raw raw = fair;
			raw.long_ns *= 1 + 0.1 * (r % 5);
			xr_raw_add(&lists[idx[j]], raw);
		}
	return 0;
}

static void statements_of_scattered_samples_are_doubted(void **state)
{
	static const struct xr_backend noisy = {.prepare = prepare, .rounds = scattered, .free = xr_target_deinit};
	const struct xr_statement statement = {.text = "p0 = p0 + p1"};
	const struct xr_plan plan = {0};
	struct stubborn s = {0};
	struct xr_outcome outcome;
	struct xr_error err = {0};
	(void)state;
	xr_target_init(&s.target, &noisy);
	s.target.info = (struct xr_target_info){.kind = "recorded", .name = "noisy", .cpu = "", .compiler = "", .cflags = "", .os = "",
	                                        .kinds = 1u << XR_OPS | 1u << XR_CLOCK, .has_flavour = {true, true}};
	struct xr_description *d = xr_description_new();
	assert_int_equal(xr_statement_run(&s.target, &statement, &plan, 0, d, &outcome, &err), 0);
	const struct xr_fact *latency = xr_description_fact(d, "statement.latency");
	assert_non_null(latency);
	assert_int_equal(xr_fact_status(latency), XR_UNRELIABLE);
	assert_non_null(strstr(xr_fact_reason(latency), "samples differ"));
	xr_description_free(d);
	xr_target_free(&s.target);
}

'''+s[i:]
s=s.replace('''		cmocka_unit_test(machines_that_cannot_be_are_turned_away),
''','''		cmocka_unit_test(machines_that_cannot_be_are_turned_away),
		cmocka_unit_test(statements_of_scattered_samples_are_doubted),
''')
s=s.replace('#include "target/backend.h"\n','#include "engine/statement.h"\n#include "facts/facts.h"\n#include "target/backend.h"\n',1)
open(p,'w').write(s)
p='CONTRIBUTING.md'; s=open(p).read()
s=s.replace('''make fuzz         # every parser against libFuzzer, a minute each
''','''make fuzz         # every parser against libFuzzer, a minute each
make test-faults  # compilers, agents, disks, clocks, limits that fail, each injected
make mutants      # 100 small changes in src/, and those that no test notices
make check-live RUNS=20 LOAD=other   # how steady the answers are on this machine
''')
open(p,'w').write(s)
