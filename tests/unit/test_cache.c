/* SPDX-License-Identifier: MIT */
/* What was compiled before: damage is mended in silence, another compiler or other flags are another thing,
 * nobody else's files are read. */
#include "target/host/cache.h"
#include "target/host/toolchain.h"
#include "target/open.h"
#include "util/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static char top[3000], dir[3100];

static int begin(void **state)
{
	(void)state;
	snprintf(top, sizeof top, "%s/cacheXXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(top))
		return -1;
	snprintf(dir, sizeof dir, "%s/kept", top);
	return 0;
}

static int end(void **state)
{
	char command[4100];
	(void)state;
	snprintf(command, sizeof command, "rm -rf '%s'", top);
	return system(command); /* NOLINT: a test's own folder */
}

static struct xr_cache open_cache(void)
{
	struct xr_cache cache;
	struct xr_strbuf why = {0};
	if (xr_cache_open(&cache, dir, &why))
		fail_msg("%s", xr_strbuf_text(&why));
	xr_strbuf_release(&why);
	return cache;
}

static bool has(const struct xr_cache *cache, uint64_t key, const char *suffix, const char *text)
{
	struct xr_strbuf out = {0};
	bool got = xr_cache_get(cache, key, suffix, &out);
	if (got)
		assert_string_equal(xr_strbuf_text(&out), text);
	xr_strbuf_release(&out);
	return got;
}

/* The only entry's file. */
static const char *entry(void)
{
	static char path[4000];
	DIR *d = opendir(dir);
	struct dirent *e;
	path[0] = '\0';
	assert_non_null(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
	closedir(d);
	return path;
}

static void an_entry_is_what_was_put(void **state)
{
	struct xr_cache cache = open_cache();
	(void)state;
	assert_false(has(&cache, 7, ".o", ""));
	xr_cache_put(&cache, 7, ".o", "object", 6);
	xr_cache_put(&cache, 7, ".look", "note", 4);
	assert_true(has(&cache, 7, ".o", "object"));
	assert_true(has(&cache, 7, ".look", "note"));
	assert_false(has(&cache, 8, ".o", ""));
	xr_cache_close(&cache);
	struct xr_cache none = {.dir = -1};
	xr_cache_put(&none, 7, ".o", "object", 6);
	assert_false(has(&none, 7, ".o", ""));
}

/* Whatever happens to the file, it is as if it were not there, and it is gone. */
static void a_damaged_entry_is_none(void **state)
{
	struct xr_cache cache = open_cache();
	struct stat st;
	(void)state;
	xr_cache_put(&cache, 7, ".o", "object", 6);
	assert_int_equal(stat(entry(), &st), 0);
	const off_t size = st.st_size;
	for (off_t at = -3; at < size; at++) {
		xr_cache_put(&cache, 7, ".o", "object", 6);
		struct xr_strbuf data = {0};
		char path[4000];
		snprintf(path, sizeof path, "%s", entry());
		assert_int_equal(xr_file_read(path, &data), 0);
		if (at >= 0)
			data.data[at] ^= 1;
		else if (at == -1)
			data.len -= 1;
		else if (at == -2)
			data.len = 0;
		else
			xr_strbuf_add(&data, "more", 4);
		assert_int_equal(xr_file_write(path, xr_strbuf_text(&data), data.len), 0);
		xr_strbuf_release(&data);
		assert_false(has(&cache, 7, ".o", ""));
		assert_int_equal(stat(path, &st), -1);
	}
	xr_cache_put(&cache, 7, ".o", "object", 6);
	char from[4000], to[4000];
	snprintf(from, sizeof from, "%s", entry());
	snprintf(to, sizeof to, "%s/%016x.look", dir, 7);
	assert_int_equal(rename(from, to), 0); /* a good entry under another's name */
	assert_false(has(&cache, 7, ".look", ""));
	xr_cache_close(&cache);
}

static void links_are_not_followed(void **state)
{
	struct xr_cache cache = open_cache();
	char to[4000], path[4000];
	(void)state;
	xr_cache_put(&cache, 7, ".o", "object", 6);
	snprintf(path, sizeof path, "%s", entry());
	snprintf(to, sizeof to, "%s/elsewhere", top);
	assert_int_equal(rename(path, to), 0);
	assert_int_equal(symlink(to, path), 0);
	assert_false(has(&cache, 7, ".o", ""));
	xr_cache_close(&cache);
}

/* Somebody puts another directory in its place while we run: it is held, not named. */
static void the_directory_is_held_not_named(void **state)
{
	struct xr_cache cache = open_cache();
	char away[4000];
	(void)state;
	xr_cache_put(&cache, 7, ".o", "object", 6);
	snprintf(away, sizeof away, "%s/away", top);
	assert_int_equal(rename(dir, away), 0);
	struct xr_cache theirs = open_cache();
	xr_cache_put(&theirs, 8, ".o", "theirs", 6);
	assert_true(has(&cache, 7, ".o", "object"));
	assert_false(has(&cache, 8, ".o", ""));
	xr_cache_close(&cache);
	xr_cache_close(&theirs);
}

static void clearing_removes_what_is_ours_alone(void **state)
{
	struct xr_cache cache = open_cache();
	size_t files;
	uint64_t bytes;
	struct xr_error err;
	char theirs[4000];
	struct stat st;
	(void)state;
	for (uint64_t key = 0; key < 5; key++)
		xr_cache_put(&cache, key, ".o", "object", 6);
	xr_cache_close(&cache);
	snprintf(theirs, sizeof theirs, "%s/photo.jpg", dir);
	assert_int_equal(xr_file_write(theirs, "x", 1), 0);
	assert_int_equal(xr_cache_clear(dir, &files, &bytes, &err), 0);
	assert_int_equal(files, 5);
	assert_int_equal(stat(theirs, &st), 0);
	assert_int_equal(xr_cache_clear("/no/such/cache", &files, &bytes, &err), 0);
	assert_int_equal(xr_cache_clear(NULL, &files, &bytes, &err), -1);
}

/* Entries of more than the limit, the first one used last. */
static void too_much_goes_the_oldest_first(void **state)
{
	enum { ENTRIES = 10, BYTES = 60 << 10 };
	struct xr_cache cache = open_cache();
	char *data = malloc(BYTES);
	(void)state;
	assert_non_null(data);
	memset(data, 'x', BYTES);
	for (uint64_t key = 0; key < ENTRIES; key++) {
		char path[4000];
		xr_cache_put(&cache, key, ".o", data, BYTES);
		snprintf(path, sizeof path, "%s/%016llx.o", dir, (unsigned long long)key);
		const struct timespec times[] = {{1000 + (long)key, 0}, {1000 + (long)key, 0}};
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	}
	free(data);
	cache.most_bytes = 512 << 10;
	struct xr_strbuf out = {0};
	assert_true(xr_cache_get(&cache, 0, ".o", &out)); /* used: now it is the youngest */
	xr_strbuf_release(&out);
	xr_cache_close(&cache);
	cache = open_cache();
	struct stat st;
	char path[4000];
	int left = 0;
	for (uint64_t key = 0; key < ENTRIES; key++) {
		snprintf(path, sizeof path, "%s/%016llx.o", dir, (unsigned long long)key);
		bool there = !stat(path, &st);
		left += there;
		assert_true(there || (key != 0 && key != ENTRIES - 1));
		assert_true(!there || key != 1);
	}
	assert_true(left >= 5 && left < ENTRIES);
	xr_cache_close(&cache);
}

/* ---- with a compiler ---- */

static struct xr_reading reading_with(const char *cc, const char *cflags)
{
	struct xr_host_options options = {.cc = cc, .cflags = cflags, .cache = dir, .tmp = top, .cpu = -1};
	struct xr_error err = {0};
	struct xr_spec spec = xr_spec_stream(XR_ADD, XR_I32, 3);
	struct xr_reading r;
	spec.ops.unroll = 8;
	struct xr_target *target = xr_host_open(&options, &err);
	if (!target)
		fail_msg("%s", err.text);
	assert_null(xr_target_info(target)->warning);
	const struct xr_effort hasty = {.samples = 1, .samples_max = 1, .hasty = true};
	r.status = XR_READ_FAILED;
	for (int i = 0; i < 10 && r.status != XR_READ_OK; i++) /* on a busy machine one sample may be none */
		assert_int_equal(xr_target_time(target, &hasty, &spec, 1, &r, &err), 0);
	assert_int_equal(r.status, XR_READ_OK);
	xr_target_free(target);
	return r;
}

static struct xr_toolchain known_as(const char *cc, const char *cflags)
{
	struct xr_host_options options = {.cc = cc, .cflags = cflags, .tmp = top, .cpu = -1};
	struct xr_arena arena = {0};
	struct xr_toolchain tc;
	struct xr_error err;
	if (xr_toolchain_init(&tc, &options, 1, &arena, NULL, &err))
		fail_msg("%s", err.text);
	xr_toolchain_release(&tc);
	xr_arena_release(&arena);
	return tc; /* for its identity */
}

static void another_compiler_is_another_even_by_the_same_name(void **state)
{
	char cc[3100], text[200];
	uint64_t was = 0;
	(void)state;
	snprintf(cc, sizeof cc, "%s/cc", top);
	for (int i = 0; i < 3; i++) { /* the same length, the same macros */
		snprintf(text, sizeof text, "#!/bin/sh\n# %d\nexec cc \"$@\"\n", i);
		unlink(cc);
		assert_int_equal(xr_file_write_program(cc, text, strlen(text)), 0);
		struct xr_toolchain first = known_as(cc, "-O2"), again = known_as(cc, "-O2");
		assert_true(first.identity[XR_PLAIN] == again.identity[XR_PLAIN]);
		assert_true(first.identity[XR_NATIVE] == again.identity[XR_NATIVE]);
		assert_true(first.identity[XR_PLAIN] != was);
		was = first.identity[XR_PLAIN];
	}
	/* as a later word of the command, too */
	char command[3200];
	snprintf(command, sizeof command, "env %s", cc);
	uint64_t through = known_as(command, "-O2").identity[XR_PLAIN];
	unlink(cc);
	assert_int_equal(xr_file_write_program(cc, text, strlen(text) - 1), 0);
	assert_true(known_as(command, "-O2").identity[XR_PLAIN] != through);
}

static void other_flags_are_another_program(void **state)
{
	static const char *const flags[] = {"-O2", "-O2 -fno-tree-ter", "-O2 -DX=1", "-O1"};
	uint64_t id[8];
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct xr_toolchain tc = known_as("cc", flags[i]);
		id[2 * i] = tc.identity[XR_PLAIN];
		id[2 * i + 1] = tc.native_flag ? tc.identity[XR_NATIVE] : i + 1;
	}
	for (size_t i = 0; i < 8; i++)
		for (size_t j = 0; j < i; j++)
			assert_true(id[i] != id[j]);
}

/* All entries at once, one way or another: the run neither fails nor says a word. */
static void a_damaged_cache_is_mended(void **state)
{
	(void)state;
	double right = reading_with("cc", "-O2").look.insns;
	DIR *d = opendir(dir);
	struct dirent *e;
	size_t n = 0;
	assert_non_null(d);
	while ((e = readdir(d))) {
		char path[4000];
		struct xr_strbuf data = {0};
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		assert_int_equal(xr_file_read(path, &data), 0);
		if (n % 3 == 0)
			data.data[data.len / 2] ^= 0x10;
		else
			data.len = n % 3 == 1 ? data.len / 2 : 0;
		assert_int_equal(xr_file_write(path, xr_strbuf_text(&data), data.len), 0);
		xr_strbuf_release(&data);
		n++;
	}
	closedir(d);
	assert_true(n > 3);
	assert_true(reading_with("cc", "-O2").look.insns == right);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_entry_is_what_was_put, begin, end),
		cmocka_unit_test_setup_teardown(a_damaged_entry_is_none, begin, end),
		cmocka_unit_test_setup_teardown(links_are_not_followed, begin, end),
		cmocka_unit_test_setup_teardown(the_directory_is_held_not_named, begin, end),
		cmocka_unit_test_setup_teardown(clearing_removes_what_is_ours_alone, begin, end),
		cmocka_unit_test_setup_teardown(too_much_goes_the_oldest_first, begin, end),
		cmocka_unit_test_setup_teardown(another_compiler_is_another_even_by_the_same_name, begin, end),
		cmocka_unit_test_setup_teardown(other_flags_are_another_program, begin, end),
		cmocka_unit_test_setup_teardown(a_damaged_cache_is_mended, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
