/* SPDX-License-Identifier: MIT */
/* Keys for the habits of real cores: read, written back the same, and refused where they make no sense. */
#include "../lib/truth.h"
#include "../lib/write.h"

#include "target/model/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char file[] = "tests/fuzz/corpus/machine/habits.ini";

static char *written(const struct xr_machine *machine)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	machine_write(machine, out);
	fclose(out);
	return text;
}

/* All that differs but the lines of the file. */
static void forget_lines(struct xr_machine *m)
{
	for (int i = 0; i < XR_N_SECTIONS; i++)
		m->section_line[i] = 0;
	for (int i = 0; i < m->n_caches; i++)
		m->cache[i].line = 0;
	for (int i = 0; i < m->n_tlbs; i++)
		m->tlb[i].line = 0;
	for (int i = 0; i < m->n_btbs; i++)
		m->btb[i].line = 0;
	for (int op = 0; op < XR_N_OPS; op++)
		for (int c = 0; c < XR_N_CLASSES; c++)
			m->class_op[op][c].line = 0;
}

static void every_habit_is_written_and_read_back_the_same(void **state)
{
	(void)state;
	static struct xr_machine m, again;
	struct xr_error err;
	memset(&m, 0, sizeof m);
	memset(&again, 0, sizeof again);
	if (xr_machine_read(&m, file, &err))
		fail_msg("%s", err.text);
	char *text = written(&m);
	if (xr_machine_parse(&again, "again", text, strlen(text), &err))
		fail_msg("%s\n%s", err.text, text);
	char *twice = written(&again);
	assert_string_equal(text, twice);
	free(text);
	free(twice);
	forget_lines(&m);
	forget_lines(&again);
	assert_memory_equal(m.cache, again.cache, sizeof m.cache);
	assert_memory_equal(m.tlb, again.tlb, sizeof m.tlb);
	assert_memory_equal(m.btb, again.btb, sizeof m.btb);
	assert_memory_equal(&m, &again, sizeof m);
}

static void keys_mean_what_they_say(void **state)
{
	(void)state;
	static struct xr_machine m;
	struct xr_error err;
	if (xr_machine_read(&m, file, &err))
		fail_msg("%s", err.text);
	const struct xr_machine_cache *l2 = &m.cache[2], *l3 = &m.cache[3];
	assert_int_equal(l2->index_bits.n, 10);
	assert_int_equal(l2->index_bits.mask[0], 1 << 6 | 1 << 16);
	assert_int_equal(l2->index_bits.mask[7], 1 << 13 | 1 << 23);
	assert_int_equal(xr_index_of(&l2->index_bits, 1 << 23 | 1 << 6), 1 << 7 | 1);
	assert_int_equal(l3->slices, 8);
	assert_int_equal(m.tlb[3].index_bits.mask[7], 1 << 9);
	assert_int_equal(m.walk_cache[0], 64);
	assert_int_equal(m.walk_cache[2], 16);
	assert_string_equal(m.walk_tables, "l2");
	assert_int_equal(m.n_btbs, 2);
}

static void old_files_have_no_habits(void **state)
{
	(void)state;
	static struct xr_machine m;
	struct xr_error err;
	if (xr_machine_read(&m, "machines/server.ini", &err))
		fail_msg("%s", err.text);
	char *text = written(&m);
	static const char *const words[] = {"index_bits", "slices",    "rival",    "way_bits",  "[walk]",
	                                    "[code]",     "[decoded]", "[btb",     "modulo",    "sibling",
	                                    "migrate",    "lies",      "coalesce", "vector_mhz"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(text, words[i]))
			fail_msg("%s", words[i]);
	free(text);
}

static void refused(const char *body, const char *want)
{
	static struct xr_machine machine;
	struct xr_error err = {0};
	char text[4096];
	snprintf(text, sizeof text, "[target]\nkind = simulated\n%s", body);
	if (!xr_machine_parse(&machine, "m.ini", text, strlen(text), &err))
		fail_msg("taken: %s", body);
	assert_int_equal(err.code, XR_EXIT_USE);
	if (!strstr(err.text, want) || strncmp(err.text, "m.ini:", 6) || strchr(err.text, '\n'))
		fail_msg("'%s' does not say '%s'", err.text, want);
}

#define L1 "[cache l1d]\ncapacity = 32K\nways = 8\n" /* 64 sets */

static void indices_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	refused(L1 "index_bits = 6 7 8\n", "m.ini:3: [cache l1d] index_bits lists 3 bits, but there are 64 sets");
	refused(L1 "index_bits = 5 6 7 8 9 10\n", "m.ini:3: [cache l1d] index_bits: bit 5 is inside a line");
	refused(L1 "index_bits = 6 7 8 9 10 10\n", "m.ini:6: index_bits: one bit follows from the others");
	refused(L1 "index_bits = 6^7 7^8 6^8 9 10 11\n", "m.ini:6: index_bits: one bit follows from the others");
	refused(L1 "index_bits = 6 7 8 9 10 48\n", "m.ini:6: index_bits: bit 48: must be from 0 to 47");
	refused(L1 "index_bits = 6^^7 7 8 9 10 11\n", "m.ini:6: index_bits: 6^^7: bits joined by ^");
	refused(L1 "index_bits = 6^6 7 8 9 10 11\n", "bit 6 twice");
	refused(L1 "index_bits = six\n", "bits joined by ^");
	refused(L1 "index_bits = 0xg\n", "bits joined by ^");
	refused(L1 "index_bits = 0x0\n", "no mask");
	refused(L1 "hash = yes\nindex_bits = 6 7 8 9 10 11\n", "more than one index");
	refused(L1 "modulo = yes\nhash = yes\n", "more than one index");
	refused(L1 "slices = 3\n", "64 sets, which 3 slices cannot share evenly");
	refused(L1 "slice_bits = 12\n", "slice_bits without slices");
	refused(L1 "slices = 4\nslice_bits = 12\n", "slice_bits lists 1 bits");
	refused(L1 "slices = 2\nslice_bits = 3\n", "inside a line");
	refused("[cache l1d]\ncapacity = 24K\nways = 4\nslices = 2\n", "48 sets a slice");
	refused("[tlb d]\nentries = 64\nways = 4\nindex_bits = 0 1 2\n", "m.ini:3: [tlb d] index_bits lists 3 bits");
	refused("[tlb d]\nentries = 64\nways = 4\nfold = yes\nindex_bits = 0 1 2 3\n", "two indices");
	refused("[tlb d]\nentries = 64\nways = 4\nindex_bits = 0 1 2 36\n", "must be from 0 to 35");
}

static void policies_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	refused(L1 "policy = lru3plru4\n", "m.ini:3: [cache l1d] policy = lru3plru4 does not go with 8 ways");
	refused(L1 "policy = lru2plru3\n", "must be one of");
	refused(L1 "policy = qlru_h00_m1_r0_u2\n", "must be one of");
	refused(L1 "policy = qlru_h01_m1_r0_u0\n", "must be one of");
	refused(L1 "policy = qlru_h00_m4_r0_u0\n", "must be one of");
	refused(L1 "policy = qlru_h00_m1_r0_u0_um\n", "must be one of");
	refused(L1 "rival = srrip\n", "rival and leaders belong together");
	refused(L1 "leaders = 4\n", "rival and leaders belong together");
	refused(L1 "rival = srrip\nleaders = 4\n", "only qlru, srrip and random can duel");
	refused(L1 "policy = random\nrival = srrip\nleaders = 17\n", "leave no followers");
}

static void translations_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	refused("[tlb d]\nentries = 64\nholds = both\ncode_ways = 64\n", "m.ini:3: [tlb d] code_ways = 64");
	refused("[tlb d]\nentries = 64\ncode_ways = 8\n", "a TLB that holds both");
	refused("[tlb d]\nentries = 64\nways = 4\nhuge_ways = 4\n", "m.ini:3: [tlb d] huge_ways = 4");
	refused("[page]\nhuge = none\n[tlb d]\nentries = 64\npages = huge\n", "has no huge ones");
	refused("[tlb d]\nentries = 64\ncoalesce = 3\n", "a power of two of pages");
	refused("[page]\nhost = 1K\n", "m.ini:3: [page] host = 1024");
	refused("[page]\nrun = 3\n", "m.ini:3: [page] run = 3");
	refused("[walk]\nlevels = 4\n", "m.ini:3: [walk] levels = 4, but there are no pages or no TLBs");
	refused("[tlb d]\nentries = 4\n[walk]\ntables = l2\n", "m.ini:5: [walk] says how");
	refused("[tlb d]\nentries = 4\n[walk]\nlevels = 4\ntables = l2\n", "no cache of that name holds data");
	refused("[tlb d]\nentries = 4\n[walk]\nlevels = 2\ncaches = 4 4\n", "have but 1 above the last");
	refused("[tlb d]\nentries = 4\n[walk]\nlevels = 7\n", "must be from 0 to 6");
}

static void code_and_noise_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	refused("[cache l2]\ncapacity = 1K\n[cache l3]\ncapacity = 1K\nway_bits = 12\n",
	        "m.ini:5: [cache l3] way_bits");
	refused("[btb a]\nentries = 10\nways = 4\n", "not a multiple");
	refused("[btb a]\nentries = 12\nways = 4\n", "not a power of two");
	refused("[btb a]\nentries = 16\nways = 4\nindex_bits = 4\n", "index_bits lists 1 bits");
	refused("[btb a]\nentries = 16\nways = 4\nindex_bits = 3 4\n", "below shift");
	refused("[btb a]\nentries = 16\ncycles = 3\n[btb b]\nentries = 8\ncycles = 4\n", "smaller or quicker");
	refused("[btb a]\nentries = 16\ncycles = 3\n[branch]\nbtb_miss = 2\n", "m.ini:6: [branch] btb_miss");
	refused("[branch]\nbtb_miss = 2\n", "there is no [btb]");
	refused("[decoded]\nways = 4\n", "has no ops");
	refused("[decoded]\nops = 100\n", "not a power of two times");
	refused("[decoded]\nops = 4096\ninclusive = yes\n", "no cache holds code");
	refused("[cpu]\nvector_mhz = 4000\n", "m.ini:3: [cpu] vector_mhz");
	refused("[cpu]\nvector_mhz = 2000\nvector_from = 64\n", "no vector has 64 bytes");
	refused("[noise]\nsibling = 0.5\n", "m.ini:3: [noise] sibling");
	refused("[counters]\nlies = zero\n", "m.ini:3: [counters] lies = zero");
	refused("[counters]\nlies = often\n", "must be one of none zero scaled random swapped");
}

/* ---- what they leave to find ---- */

static void truth(const char *body, const char *id, enum xr_truth_kind kind, double value)
{
	static struct xr_machine machine;
	struct xr_error err = {0};
	char text[4096];
	snprintf(text, sizeof text, "[target]\nkind = simulated\n[op add int]\n%s", body);
	if (xr_machine_parse(&machine, "m.ini", text, strlen(text), &err))
		fail_msg("%s", err.text);
	struct xr_truth t = xr_model_truth_of(&machine, id);
	if (t.kind != kind ||
	    (kind == XR_TRUTH_VALUE && !(json_number_value(t.value) >= value && json_number_value(t.value) <= value)))
		fail_msg("%s: kind %d, value %g, not %d, %g", id, (int)t.kind, json_number_value(t.value), (int)kind,
		         value);
	xr_truth_release(&t);
}

#define TLB2 "[tlb d1]\nentries = 64\npenalty = 7\n[tlb i1]\nholds = code\nentries = 64\npenalty = 7\n"

static void what_a_habit_leaves_to_find_is_said(void **state)
{
	(void)state;
	const char *second = TLB2 "[tlb u2]\nholds = both\nentries = 2048\nways = 8\npenalty = 30\n%s";
	char text[1000];
	snprintf(text, sizeof text, second, "code_ways = 4\n"); /* code sees its part, data all */
	truth(text, "tlb.d2.entries", XR_TRUTH_VALUE, 2048);
	truth(text, "tlb.i2.entries", XR_TRUTH_VALUE, 1024);
	snprintf(text, sizeof text, second, "huge_ways = 2\n");
	truth(text, "tlb.d2.entries", XR_TRUTH_VALUE, 1536);
	snprintf(text, sizeof text, second, "coalesce = 4\n[page]\nplacement = runs\n"); /* shuffled pages tell */
	truth(text, "tlb.d2.entries", XR_TRUTH_VALUE, 2048);
	snprintf(text, sizeof text, second, "[walk]\nlevels = 4\nstep = 10\n"); /* what a walk costs depends */
	truth(text, "tlb.d2.penalty", XR_TRUTH_UNSAID, 0);
	truth(text, "tlb.d1.penalty", XR_TRUTH_VALUE, 7);
	truth("[tlb h1]\nentries = 32\npages = huge\n" TLB2, "tlb.d1.entries", XR_TRUTH_VALUE, 64);
	truth(L1 "latency = 4\nindex_bits = 6^12 7 8 9 10 11\n", "cache.l1d.capacity", XR_TRUTH_VALUE, 32768);
	truth(L1 "latency = 4\npolicy = srrip\nrival = random\nleaders = 4\n", "cache.l1d.policy", XR_TRUTH_UNSAID, 0);
	truth("[threads]\nsmt = 2\n" L1 "latency = 4\n[noise]\nmigrate_hz = 10\n", "threads.siblings", XR_TRUTH_HIDDEN,
	      0);
	truth("[threads]\nsmt = 2\n" L1 "latency = 4\n[noise]\nmigrate_hz = 10\n", "threads.logical", XR_TRUTH_VALUE,
	      8);
	truth("[threads]\nsmt = 2\n" L1 "latency = 4\n[noise]\nsibling = 0.3\n", "cache.l1d.capacity", XR_TRUTH_VALUE,
	      32768);
	truth("[threads]\nsmt = 2\n" L1 "latency = 4\n[noise]\nsibling = 1\n", "cache.l1d.capacity", XR_TRUTH_UNSAID,
	      0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_habit_is_written_and_read_back_the_same),
		cmocka_unit_test(keys_mean_what_they_say),
		cmocka_unit_test(old_files_have_no_habits),
		cmocka_unit_test(indices_that_make_no_sense_are_refused),
		cmocka_unit_test(policies_that_make_no_sense_are_refused),
		cmocka_unit_test(translations_that_make_no_sense_are_refused),
		cmocka_unit_test(code_and_noise_that_make_no_sense_are_refused),
		cmocka_unit_test(what_a_habit_leaves_to_find_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
