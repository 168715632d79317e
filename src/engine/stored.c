/* SPDX-License-Identifier: MIT */
/* A description that is measured once and read afterwards: what a self-tuning program asks for when it starts.
 *
 * The file's name is a hash of what facts hang on: CPU, kernel, control group and its limits, the CPUs allowed,
 * compiler and flags, what was asked for. Another machine, or the same in another container, is another file. The
 * directory is held as the cache's is: by a descriptor, after all of its parents were checked.
 */
#include "target/host/os.h"
#include "util/arena.h"
#include "util/files.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/strbuf.h"
#include "util/trusted.h"
#include "xray.h"

#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const off_t stored_most = 256 << 20;

static uint64_t mix(uint64_t key, const char *text)
{
	return xr_hash(xr_hash(key, text ? text : "-", text ? strlen(text) : 1), "|", 1);
}

/* A file is the same as long as its size and time are. */
static uint64_t mix_file(uint64_t key, const char *path)
{
	struct stat st;
	if (!path || stat(path, &st))
		return key;
	key = xr_hash(key, &st.st_size, sizeof st.st_size);
	return xr_hash(key, &st.st_mtim, sizeof st.st_mtim);
}

/* The compiler is known by its file, where that is in one of the usual places: asking it for its version would
 * take longer than reading the answer. */
static uint64_t mix_compiler(uint64_t key, struct xr_arena *arena, const char *command)
{
	static const char *const places[] = {"", "/usr/local/bin/", "/usr/bin/", "/bin/"};
	int len = (int)strcspn(command, " ");
	struct stat st;
	key = mix(key, command);
	for (size_t i = memchr(command, '/', (size_t)len) ? 0 : 1; i < sizeof places / sizeof *places; i++) {
		const char *path = xr_arena_printf(arena, "%s%.*s", places[i], len, command);
		if (!stat(path, &st))
			return mix_file(key, path);
	}
	return key;
}

static uint64_t key_of(struct xr_arena *arena, const struct xr_options *options, const struct xr_plan *plan)
{
	struct xr_strbuf group = {0};
	const int *cpus;
	int n_cpus = xr_os_cpus(arena, &cpus);
	double quota = xr_os_quota();
	uint64_t key = mix(mix(0, XR_VERSION), xr_os_cpu_name(arena));
	key = mix(key, xr_os_name(arena));
	if (!xr_file_read("/proc/self/cgroup", &group))
		key = mix(key, xr_strbuf_text(&group));
	xr_strbuf_release(&group);
	key = xr_hash(key, &quota, sizeof quota);
	key = xr_hash(key, cpus, (size_t)n_cpus * sizeof *cpus);
	key = mix_compiler(key, arena, options && options->cc ? options->cc : "cc");
	key = mix(key, options ? options->cflags : NULL);
	key = mix(key, options ? options->runner : NULL);
	key = mix(key, options ? options->form : NULL);
	if (options && options->cpu >= 0) /* cores of a machine need not be alike */
		key = xr_hash(key, &options->cpu, sizeof options->cpu);
	key = mix_file(mix(key, options ? options->target : NULL), options ? options->target : NULL);
	for (size_t i = 0; plan && i < plan->n_select; i++)
		key = mix(key, plan->select[i]);
	return plan && plan->quick ? mix(key, "quick") : key;
}

/* NULL: not there, too old, from the future (a clock that was set back would keep it for ever), or not to be
 * read, which is no error: it is measured anew. */
static struct xr_description *read_if_fresh(int dir, const char *name, double max_age_s)
{
	struct xr_strbuf text = {0};
	struct xr_description *d = NULL;
	struct stat st;
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	bool usable = !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_size <= stored_most;
	double age_s = usable ? difftime(time(NULL), st.st_mtime) : 0;
	if (usable && age_s > -1 && !(max_age_s > 0 && age_s > max_age_s) && !xr_fd_read(fd, &text))
		d = xr_description_parse(xr_strbuf_text(&text), text.len, name, NULL);
	xr_strbuf_release(&text);
	close(fd);
	return d;
}

/* A full disk costs the next start some time, no more. */
static void write_stored(int dir, const char *name, const struct xr_description *d)
{
	char fresh[64];
	char *text = xr_description_text(d);
	snprintf(fresh, sizeof fresh, ".%ld.new", (long)getpid());
	unlinkat(dir, fresh, 0); /* of a process of this number that died */
	int fd = text ? openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
	if (fd >= 0) {
		bool whole = !xr_write_all(fd, text, strlen(text)) && !fsync(fd);
		if (close(fd) || !whole || renameat(dir, fresh, dir, name))
			unlinkat(dir, fresh, 0);
	}
	free(text);
}

static struct xr_description *measure_and_keep(int dir, const char *name, const struct xr_options *options,
                                               const struct xr_plan *plan, struct xr_error *err)
{
	struct xr_outcome outcome = {0};
	struct xr_session *session = xr_session_open(options, err);
	struct xr_description *d = session ? xr_session_measure(session, plan, &outcome, err) : NULL;
	if (d && !outcome.interrupted && !outcome.over_budget) /* half an answer is for this time only */
		write_stored(dir, name, d);
	xr_session_free(session);
	return d;
}

struct xr_description *xr_description_stored(const char *dir, double max_age_s, const struct xr_options *options,
                                             const struct xr_plan *plan, struct xr_error *err)
{
	struct xr_memory_guard guard;
	struct xr_arena arena = {0};
	struct xr_strbuf why = {0};
	struct xr_description *volatile d = NULL;
	volatile int held = -1;
	if (!dir) {
		xr_fail(err, XR_EXIT_USE, "no directory is named");
		return NULL;
	}
	if (setjmp(*xr_memory_guard(&guard))) {
		xr_fail(err, XR_EXIT_TARGET, "out of memory");
	} else if ((held = xr_trusted_open(dir, true, &why)) < 0) {
		xr_fail(err, XR_EXIT_USE,
		        "descriptions are kept in a directory of ours that nobody else can write: %.800s",
		        xr_strbuf_text(&why));
	} else {
		const char *name =
			xr_arena_printf(&arena, "machine-%016" PRIx64 ".json", key_of(&arena, options, plan));
		d = read_if_fresh(held, name, max_age_s);
		if (!d)
			d = measure_and_keep(held, name, options, plan, err);
	}
	xr_memory_unguard(&guard);
	if (held >= 0)
		close(held);
	xr_strbuf_release(&why);
	xr_arena_release(&arena);
	return d;
}
