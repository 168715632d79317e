/* SPDX-License-Identifier: MIT */
/* What is copied, and where to. Every instruction must run wherever it lies. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif

#include "copies.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#if XR_CAN_COPY_CODE
#include <sys/mman.h>
#include <unistd.h>

#ifndef __has_attribute
#define __has_attribute(name) 0
#endif

/* A block must stay a few instructions long and free of relative addresses whatever flags the agent is built with. */
#if defined(__clang__)
#define COPIED(name)                                                                                                   \
	__attribute__((section(name), noinline, used, no_instrument_function,                                          \
	               no_sanitize("address", "undefined", "thread")))
#elif defined(__x86_64__) || defined(__i386__)
#define COPIED(name)                                                                                                   \
	__attribute__((section(name), noinline, used, no_instrument_function,                                          \
	               no_sanitize("address", "undefined", "thread"), indirect_branch("keep"),                         \
	               optimize("O2", "omit-frame-pointer", "no-stack-protector")))
#else
#define COPIED(name)                                                                                                   \
	__attribute__((section(name), noinline, used, no_instrument_function,                                          \
	               no_sanitize("address", "undefined", "thread"),                                                  \
	               optimize("O2", "omit-frame-pointer", "no-stack-protector")))
#endif
#if __has_attribute(musttail)
#define TAIL __attribute__((musttail)) return
#else
#define TAIL return
#endif

enum {
	REGIONS_MAX = 16,
	SOME = 6, /* statements of a block; as in nano/spec.h */
	MANY = 22,
};

static struct xr_copies regions[REGIONS_MAX];
static int n_regions;

/* ---- the code that is copied --------------------------------------------------------------------------------- */

COPIED("xr_block") static const uint32_t *block(const uint32_t *at, uintptr_t base)
{
	at++;
	TAIL((xr_copies_visit *)(base + *at))(at, base);
}

COPIED("xr_finish") static const uint32_t *finish(const uint32_t *at, uintptr_t base)
{
	(void)base;
	return at;
}

/* The barrier keeps the compiler from adding up; it stands for no instruction. */
#define PLUS(p)                                                                                                        \
	p += p0;                                                                                                       \
	__asm__ volatile("" : "+r"(p))
#define PLUS4                                                                                                          \
	PLUS(p1);                                                                                                      \
	PLUS(p2);                                                                                                      \
	PLUS(p3);                                                                                                      \
	PLUS(p4)
#define PLUS16                                                                                                         \
	PLUS4;                                                                                                         \
	PLUS4;                                                                                                         \
	PLUS4;                                                                                                         \
	PLUS4
#define PLUS64                                                                                                         \
	PLUS16;                                                                                                        \
	PLUS16;                                                                                                        \
	PLUS16;                                                                                                        \
	PLUS16

/* Additions that take room in a cache of decoded code, and nothing else: whatever stands in a register will do. */
#define WHATEVER(p) __asm__ volatile("" : "=r"(p))
#define PLUS3                                                                                                          \
	PLUS(p1);                                                                                                      \
	PLUS(p2);                                                                                                      \
	PLUS(p3)

#define PLUS11(p)                                                                                                      \
	PLUS(p);                                                                                                       \
	PLUS(p);                                                                                                       \
	PLUS(p);                                                                                                       \
	PLUS(p);                                                                                                       \
	PLUS(p);                                                                                                       \
	PLUS(p);                                                                                                       \
	PLUS(p);                                                                                                       \
	PLUS(p);                                                                                                       \
	PLUS(p);                                                                                                       \
	PLUS(p);                                                                                                       \
	PLUS(p)

COPIED("xr_some") static const uint32_t *some(const uint32_t *at, uintptr_t base)
{
	unsigned p0 = (unsigned)base, p1, p2, p3;
	WHATEVER(p1);
	WHATEVER(p2);
	WHATEVER(p3);
	PLUS3; /* SOME: with the jump they fill half a usual line where instructions are short */
	PLUS3;
	at++;
	TAIL((xr_copies_visit *)(base + *at))(at, base);
}

COPIED("xr_many") static const uint32_t *many(const uint32_t *at, uintptr_t base)
{
	unsigned p0 = (unsigned)base, p1;
	WHATEVER(p1);
	PLUS11(p1); /* MANY: a whole one. One after the other, so that decoding them takes no longer than running them */
	PLUS11(p1);
	at++;
	TAIL((xr_copies_visit *)(base + *at))(at, base);
}

COPIED("xr_piece") static const uint32_t *piece(const uint32_t *at, uintptr_t base)
{
	unsigned p0 = (unsigned)base, p1 = p0, p2 = p0, p3 = p0, p4 = p0;
	PLUS64;
	PLUS64;
	at++;
	TAIL((xr_copies_visit *)(base + *at))(at, base);
}

extern const char __start_xr_block[], __stop_xr_block[];
extern const char __start_xr_finish[], __stop_xr_finish[];
extern const char __start_xr_some[], __stop_xr_some[];
extern const char __start_xr_many[], __stop_xr_many[];
extern const char __start_xr_piece[], __stop_xr_piece[];

/* ---- regions -------------------------------------------------------------------------------------------------- */

struct copied {
	uint64_t statements;
	const char *start, *stop;
};

static size_t copied_size(const struct copied *c)
{
	return (size_t)(c->stop - c->start);
}

static const struct copied *copied_of(int straight, uint64_t statements)
{
	static const struct copied kinds[] = {
		{0, __start_xr_block, __stop_xr_block},
		{SOME, __start_xr_some, __stop_xr_some},
		{MANY, __start_xr_many, __stop_xr_many},
		{XR_COPIES_STATEMENTS, __start_xr_piece, __stop_xr_piece},
	};
	if (straight)
		return &kinds[3];
	for (int i = 0; i < 3; i++)
		if (kinds[i].statements == statements)
			return &kinds[i];
	return NULL;
}

/* A power of two, so that a block never lies across two lines and every usual spacing is on the grid. */
static uint32_t block_grid(const struct copied *block)
{
	uint32_t grid = 16;
	while (grid < copied_size(block))
		grid *= 2;
	return grid;
}

static void tile(char *base, const struct xr_copies *region)
{
	const struct copied *code = copied_of(region->straight, region->statements);
	for (uint64_t at = 0; at + copied_size(code) <= region->bytes && !region->lazy; at += region->grid)
		memcpy(base + at, code->start, copied_size(code));
	memcpy(base + region->finish, __start_xr_finish, (size_t)(__stop_xr_finish - __start_xr_finish));
	__builtin___clear_cache(base, base + region->finish + 256);
}

#ifdef __linux__
/* Where anonymous memory may not become executable, a file in memory sometimes may. */
static int execute_from_file(char *base, size_t whole)
{
	int fd = memfd_create("xray", MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	size_t done = 0;
	while (done < whole) {
		ssize_t n = write(fd, base + done, whole - done);
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	void *again =
		done == whole ? mmap(base, whole, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, 0) : MAP_FAILED;
	close(fd);
	return again == MAP_FAILED ? -1 : 0;
}
#else
static int execute_from_file(char *base, size_t whole)
{
	(void)base;
	(void)whole;
	return -1;
}
#endif

static int map_region(struct xr_copies *region, int exact, char *error, size_t error_size)
{
	const size_t align = (size_t)1 << 21; /* so that offsets in the region mean the same in every run */
	size_t whole = (size_t)(region->finish + 65536);
	char *map = mmap(NULL, whole + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED) {
		snprintf(error, error_size, "no memory for %zu bytes of code: %s", whole, strerror(errno));
		return -1;
	}
	char *base = (char *)(((uintptr_t)map + align - 1) & ~(uintptr_t)(align - 1));
#ifdef MADV_NOHUGEPAGE
	madvise(base, whole, MADV_NOHUGEPAGE);
#endif
	/* Where every instruction is simulated only what is visited is copied, as it is. */
	region->lazy = exact && mprotect(base, whole, PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
	tile(base, region);
	if (region->lazy) {
		region->base = base;
		return 0;
	}
	if (mprotect(base, whole, PROT_READ | PROT_EXEC) != 0 && execute_from_file(base, whole) != 0) {
		snprintf(error, error_size, "unsupported: this target lets no memory become executable (%s)",
		         strerror(errno));
		munmap(map, whole + align);
		return -1;
	}
	region->base = base;
	return 0;
}

struct xr_copies *xr_copies_find(unsigned id, uint64_t bytes, int straight, uint64_t statements, int exact, char *error,
                                 size_t error_size)
{
	const struct copied *code = copied_of(straight, statements);
	for (int i = 0; i < n_regions; i++)
		if (regions[i].id == id && regions[i].bytes == bytes && regions[i].straight == straight &&
		    regions[i].statements == statements)
			return &regions[i];
	if (!code) {
		snprintf(error, error_size, "no block of %" PRIu64 " statements", statements);
		return NULL;
	}
	if (n_regions == REGIONS_MAX) {
		snprintf(error, error_size, "more than %d regions of code", REGIONS_MAX);
		return NULL;
	}
	if (bytes == 0 || bytes > XR_COPIES_MOST) {
		snprintf(error, error_size, "a region of %" PRIu64 " bytes of code", bytes);
		return NULL;
	}
	struct xr_copies *region = &regions[n_regions];
	memset(region, 0, sizeof *region);
	region->id = id;
	region->bytes = bytes;
	region->straight = straight;
	region->statements = statements;
	region->grid = straight ? (uint32_t)copied_size(code) : block_grid(code);
	region->finish = (uint32_t)((bytes + 4095) / 4096 * 4096 + 64);
	if (map_region(region, exact, error, error_size) != 0)
		return NULL;
	n_regions++;
	return region;
}

void xr_copies_need(const struct xr_copies *region, const uint32_t *blocks, size_t n)
{
	const struct copied *code = copied_of(region->straight, region->statements);
	size_t some = copied_size(code) < 8 ? copied_size(code) : 8;
	uint32_t first = UINT32_MAX, last = 0;
	for (size_t i = 0; i < n && region->lazy; i++) {
		char *at = region->base + (blocks[i] - XR_COPIES_ENTRY);
		if (memcmp(at, code->start, some) == 0)
			continue;
		memcpy(at, code->start, copied_size(code));
		first = blocks[i] < first ? blocks[i] : first;
		last = blocks[i] > last ? blocks[i] : last;
	}
	if (first <= last)
		__builtin___clear_cache(region->base + first - XR_COPIES_ENTRY,
		                        region->base + last + copied_size(code));
}

#endif
