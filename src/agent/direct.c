/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#endif

#include "direct.h"

#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && (defined(__unix__) || defined(__linux__)) && !defined(__ILP32__) &&                           \
	(defined(__x86_64__) || (defined(__aarch64__) && !defined(__AARCH64EB__)) ||                                   \
         (defined(__riscv) && __riscv_xlen == 64))
#define CAN_WRITE_JUMPS 1
#include <sys/mman.h>
#else
#define CAN_WRITE_JUMPS 0
#endif

struct xr_agent_direct {
	char *map, *base;
	size_t whole;
	void (*lap)(unsigned long laps);
};

#if CAN_WRITE_JUMPS

/* ---- one jump, and the last one of a lap: counts down its argument, begins again, or returns ---- */

#if defined(__x86_64__)

static const int64_t farthest = INT32_MAX;

static void put_jump(char *at, const char *to)
{
	const int32_t by = (int32_t)(to - (at + 5));
	*at = (char)0xe9; /* jmp */
	memcpy(at + 1, &by, sizeof by);
}

static void put_last(char *at, const char *to)
{
	static const unsigned char count[] = {0x48, 0xff, 0xcf, 0x0f, 0x85}; /* dec rdi; jne */
	const int32_t by = (int32_t)(to - (at + 9));
	memcpy(at, count, sizeof count);
	memcpy(at + 5, &by, sizeof by);
	at[9] = (char)0xc3; /* ret */
}

#else

static void put_words(char *at, const uint32_t *word, size_t n)
{
	memcpy(at, word, n * sizeof *word);
}

#if defined(__aarch64__)

static const int64_t farthest = INT64_C(1) << 27;

static uint32_t branch(int64_t by)
{
	return UINT32_C(0x14000000) | ((uint32_t)(by / 4) & UINT32_C(0x03ffffff));
}

static void put_jump(char *at, const char *to)
{
	const uint32_t word = branch(to - at);
	put_words(at, &word, 1);
}

static void put_last(char *at, const char *to)
{
	/* sub x0, x0, 1; cbz x0, the ret; b; ret */
	const uint32_t word[] = {UINT32_C(0xd1000400), UINT32_C(0xb4000040), branch(to - (at + 8)),
	                         UINT32_C(0xd65f03c0)};
	put_words(at, word, 4);
}

#else /* RISC-V */

static const int64_t farthest = INT64_C(1) << 30;

/* auipc t1; jr t1: jal reaches a mebibyte only */
static void far_jump(char *at, const char *to)
{
	const uint32_t by = (uint32_t)(int32_t)(to - at), high = (by + 0x800) & UINT32_C(0xfffff000);
	const uint32_t word[] = {high | 0x317, ((by - high) & 0xfff) << 20 | 0x30067};
	put_words(at, word, 2);
}

static void put_jump(char *at, const char *to)
{
	far_jump(at, to);
}

static void put_last(char *at, const char *to)
{
	/* addi a0, a0, -1; then, unless it is zero, back; ret */
	const uint32_t count[] = {UINT32_C(0xfff50513), UINT32_C(0x00050663)}, ret = UINT32_C(0x00008067);
	put_words(at, count, 2);
	far_jump(at + 8, to);
	put_words(at + 16, &ret, 1);
}

#endif
#endif

static char *map_code(struct xr_agent_direct *d, uint64_t bytes)
{
	const uint64_t align = UINT64_C(1) << 21; /* so that offsets mean the same in every run */
	d->whole = (size_t)(bytes + 2 * align);
	d->map = mmap(NULL, d->whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (d->map == MAP_FAILED)
		return NULL;
	d->base = (char *)(((uintptr_t)d->map + align - 1) & ~(uintptr_t)(align - 1));
#ifdef MADV_NOHUGEPAGE
	madvise(d->base, (size_t)(bytes + align), MADV_NOHUGEPAGE);
#endif
	return d->base;
}

struct xr_agent_direct *xr_direct_make(uint64_t bytes, const uint32_t *offset, size_t n)
{
	struct xr_agent_direct *d = (int64_t)bytes < farthest && n > 0 ? calloc(1, sizeof *d) : NULL;
	if (!d)
		return NULL;
	if (!map_code(d, bytes)) {
		free(d);
		return NULL;
	}
	for (size_t i = 0; i + 1 < n; i++)
		put_jump(d->base + offset[i], d->base + offset[i + 1]);
	put_last(d->base + offset[n - 1], d->base + offset[0]);
	if (mprotect(d->map, d->whole, PROT_READ | PROT_EXEC) != 0) {
		xr_direct_free(d);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		__builtin___clear_cache(d->base + offset[i], d->base + offset[i] + XR_DIRECT_GRID);
	d->lap = (void (*)(unsigned long))(uintptr_t)(d->base + offset[0]);
	return d;
}

void xr_direct_run(struct xr_agent_direct *d, unsigned long laps)
{
	d->lap(laps);
}

void xr_direct_free(struct xr_agent_direct *d)
{
	if (!d)
		return;
	munmap(d->map, d->whole);
	free(d);
}

#else /* another instruction set, or nowhere to put code */

struct xr_agent_direct *xr_direct_make(uint64_t bytes, const uint32_t *offset, size_t n)
{
	(void)bytes;
	(void)offset;
	(void)n;
	return NULL;
}

void xr_direct_run(struct xr_agent_direct *d, unsigned long laps)
{
	(void)d;
	(void)laps;
}

void xr_direct_free(struct xr_agent_direct *d)
{
	free(d);
}

#endif
