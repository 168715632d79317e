/* SPDX-License-Identifier: MIT */
#include "target/host/cache.h"

#include "util/error.h"
#include "util/files.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/trusted.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const uint64_t usual_most_bytes = UINT64_C(512) << 20; /* a full run leaves about 20 MiB */
static const off_t entry_most_bytes = 64 << 20;
static const time_t stale_s = 3600; /* half-written by somebody who is gone */
static const char magic[] = "xray cache 1\n";

struct head {
	char magic[sizeof magic - 1];
	uint8_t pad[3];
	uint64_t key, len, sum[2];
};

int xr_cache_open(struct xr_cache *cache, const char *path, struct xr_strbuf *why)
{
	*cache = (struct xr_cache){.dir = -1, .most_bytes = usual_most_bytes};
	cache->dir = path ? xr_trusted_open(path, true, why) : -1;
	return path && cache->dir < 0 ? -1 : 0;
}

static void name_of(char name[64], uint64_t key, const char *suffix)
{
	snprintf(name, 64, "%016" PRIx64 "%s", key, suffix);
}

/* Two sums of different beginnings, over content and name. */
static struct head head_of(uint64_t key, const char *suffix, const void *data, size_t len)
{
	struct head head = {.key = key, .len = len};
	memcpy(head.magic, magic, sizeof head.magic);
	uint64_t seed = xr_hash(key, suffix, strlen(suffix));
	head.sum[0] = xr_hash(seed, data, len);
	head.sum[1] = xr_hash(~seed * 3 + head.sum[0], data, len);
	return head;
}

static bool read_whole(int fd, char *to, size_t len)
{
	while (len) {
		ssize_t got = read(fd, to, len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		to += got;
		len -= (size_t)got;
	}
	return true;
}

static bool read_entry(int fd, uint64_t key, const char *suffix, struct xr_strbuf *out)
{
	struct stat st;
	struct head head, right;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_size < (off_t)sizeof head ||
	    st.st_size > entry_most_bytes)
		return false;
	size_t len = (size_t)st.st_size - sizeof head;
	char *data = xr_calloc(len + 1, 1);
	bool good = read_whole(fd, (char *)&head, sizeof head) && read_whole(fd, data, len);
	right = head_of(key, suffix, data, len);
	good = good && !memcmp(&head, &right, sizeof head);
	if (good)
		xr_strbuf_add(out, data, len);
	free(data);
	return good;
}

bool xr_cache_get(const struct xr_cache *cache, uint64_t key, const char *suffix, struct xr_strbuf *out)
{
	char name[64];
	if (cache->dir < 0)
		return false;
	name_of(name, key, suffix);
	int fd = openat(cache->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool good = read_entry(fd, key, suffix, out);
	if (good)
		futimens(fd, NULL); /* used: stays longer */
	else
		unlinkat(cache->dir, name, 0);
	close(fd);
	return good;
}

/* A cache that cannot take an entry is no reason to stop. */
void xr_cache_put(struct xr_cache *cache, uint64_t key, const char *suffix, const void *data, size_t len)
{
	char name[64], fresh[96];
	struct head head = head_of(key, suffix, data, len);
	if (cache->dir < 0 || (off_t)(len + sizeof head) > entry_most_bytes)
		return;
	name_of(name, key, suffix);
	snprintf(fresh, sizeof fresh, "%s.%ld-%u.new", name, (long)getpid(), ++cache->n_put);
	int fd = openat(cache->dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	bool good = !xr_write_all(fd, (const char *)&head, sizeof head) && !xr_write_all(fd, data, len);
	good = !close(fd) && good;
	if (!good || renameat(cache->dir, fresh, cache->dir, name))
		unlinkat(cache->dir, fresh, 0);
}

/* ---- what is there ---- */

struct entry {
	char name[64];
	struct timespec used;
	uint64_t bytes;
};

struct entries {
	struct entry *entry;
	size_t n, room;
	uint64_t bytes;
};

/* Files that this tool makes have names that nobody else gives: others are left alone. */
static bool is_ours(const char *name)
{
	size_t digits = strspn(name, "0123456789abcdef");
	return digits == 16 && name[digits] == '.' && strlen(name) < 64;
}

static void list_entries(int dir, struct entries *list)
{
	int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *open_dir = again >= 0 ? fdopendir(again) : NULL;
	struct dirent *d;
	struct stat st;
	if (!open_dir && again >= 0)
		close(again);
	while (open_dir && (d = readdir(open_dir))) {
		if (!is_ours(d->d_name) || fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) || S_ISDIR(st.st_mode))
			continue;
		if (list->n == list->room) {
			list->room = list->room ? list->room * 2 : 256;
			list->entry = xr_realloc(list->entry, list->room, sizeof *list->entry);
		}
		struct entry *e = &list->entry[list->n];
		if ((size_t)snprintf(e->name, sizeof e->name, "%s", d->d_name) >= sizeof e->name)
			continue;
		list->n++;
		e->used = st.st_mtim;
		e->bytes = (uint64_t)st.st_blocks * 512;
		list->bytes += e->bytes;
	}
	if (open_dir)
		closedir(open_dir);
}

static int by_use(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

static bool is_stale(const struct entry *e)
{
	size_t len = strlen(e->name);
	return len > 4 && !strcmp(e->name + len - 4, ".new") && e->used.tv_sec + stale_s < time(NULL);
}

/* Down to four fifths of the limit, so that not every run has to. */
static void sweep(const struct xr_cache *cache)
{
	struct entries list = {0};
	list_entries(cache->dir, &list);
	if (list.n)
		qsort(list.entry, list.n, sizeof *list.entry, by_use);
	bool too_much = list.bytes > cache->most_bytes;
	for (size_t i = 0; i < list.n; i++) {
		bool over = too_much && list.bytes > cache->most_bytes / 5 * 4;
		if ((over || is_stale(&list.entry[i])) && !unlinkat(cache->dir, list.entry[i].name, 0))
			list.bytes -= list.entry[i].bytes;
	}
	free(list.entry);
}

void xr_cache_close(struct xr_cache *cache)
{
	if (cache->dir < 0)
		return;
	sweep(cache);
	close(cache->dir);
	cache->dir = -1;
}

static int clear(const char *path, size_t *files, uint64_t *bytes, struct xr_error *err)
{
	struct xr_strbuf why = {0};
	struct entries list = {0};
	struct stat st;
	if (stat(path, &st) && errno == ENOENT)
		return 0;
	int dir = xr_trusted_open(path, false, &why), status = 0;
	if (dir < 0)
		status = xr_fail(err, XR_EXIT_USE, "cannot clear the cache %.500s (%s)", path, xr_strbuf_text(&why));
	else
		list_entries(dir, &list);
	for (size_t i = 0; i < list.n; i++) {
		if (unlinkat(dir, list.entry[i].name, 0) && errno != ENOENT)
			status = xr_fail(err, XR_EXIT_USE, "cannot remove %.500s/%s: %s", path, list.entry[i].name,
			                 strerror(errno));
		else
			++*files, *bytes += list.entry[i].bytes;
	}
	if (dir >= 0)
		close(dir);
	free(list.entry);
	xr_strbuf_release(&why);
	return status;
}

static int clear_guarded(const char *path, size_t *files, uint64_t *bytes, struct xr_error *err)
{
	struct xr_memory_guard guard;
	volatile int status;
	if (setjmp(*xr_memory_guard(&guard)))
		status = xr_fail(err, XR_EXIT_TARGET, "out of memory");
	else
		status = clear(path, files, bytes, err);
	xr_memory_unguard(&guard);
	return status;
}

int xr_cache_clear(const char *path, size_t *files, uint64_t *bytes, struct xr_error *err)
{
	size_t n = 0;
	uint64_t size = 0;
	int status = path ? clear_guarded(path, &n, &size, err) : xr_fail(err, XR_EXIT_USE, "no cache is named");
	if (files)
		*files = n;
	if (bytes)
		*bytes = size;
	return status;
}
