/* SPDX-License-Identifier: MIT */
#include "engine/claims_cpu.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#define XR_HAS_CPUID 1
#endif

/* ---- what the numbers mean ---------------------------------------------------------------------------------------- */

static struct xr_tlb_claim claim_of(int entries, int ways)
{
	struct xr_tlb_claim none = {0, 0};
	return entries > 0 ? (struct xr_tlb_claim){entries, ways} : none;
}

struct xr_tlb_claim xr_tlb_of_amd_l1(unsigned field)
{
	int entries = (int)(field & 0xff), ways = (int)(field >> 8 & 0xff);
	return claim_of(entries, ways == 0xff ? entries : ways);
}

struct xr_tlb_claim xr_tlb_of_amd_l2(unsigned field)
{
	static const int ways_of[16] = {0, 1, 2, 3, 4, 6, 8, 0, 16, 0, 32, 48, 64, 96, 128, -1};
	int entries = (int)(field & 0xfff), ways = ways_of[field >> 12 & 0xf];
	return claim_of(entries, ways < 0 ? entries : ways);
}

struct xr_tlb_claim xr_tlb_of_intel(unsigned ebx, unsigned ecx)
{
	int ways = (int)(ebx >> 16);
	return claim_of(ways * (int)(ecx & 0xffff), ways);
}

/* One entry for each TLB: kind (1 data, 2 code, 3 both, 4 loads), level, pages it holds. */
const char *xr_tlb_name_of_intel(unsigned ebx, unsigned edx)
{
	unsigned kind = edx & 0x1f, level = edx >> 5 & 7;
	if (!kind || kind > 4 || !(ebx & 1)) /* none, or not for pages of 4 KiB */
		return NULL;
	if (level == 1)
		return kind == 2 ? "i1" : "d1";
	return level == 2 && kind != 2 ? "d2" : NULL;
}

static void put(struct xr_description *d, const char *level, struct xr_tlb_claim claim)
{
	char id[64];
	struct xr_fact *fact;
	snprintf(id, sizeof id, "tlb.%s.entries", level);
	if (claim.entries > 0 && (fact = xr_description_edit(d, id)))
		xr_fact_claim(fact, json_integer(claim.entries));
	snprintf(id, sizeof id, "tlb.%s.ways", level);
	if (claim.ways > 0 && (fact = xr_description_edit(d, id)))
		xr_fact_claim(fact, json_integer(claim.ways));
}

/* ---- x86 ---------------------------------------------------------------------------------------------------------- */

#ifdef XR_HAS_CPUID
static void claim_amd(struct xr_description *d)
{
	unsigned a, b, c, e;
	if (__get_cpuid(0x80000005, &a, &b, &c, &e)) { /* ebx: pages of 4 KiB, data in the upper half */
		put(d, "d1", xr_tlb_of_amd_l1(b >> 16));
		put(d, "i1", xr_tlb_of_amd_l1(b & 0xffff));
	}
	if (__get_cpuid(0x80000006, &a, &b, &c, &e))
		put(d, "d2", xr_tlb_of_amd_l2(b >> 16));
}

/* Leaf 0x18. */
static void claim_intel(struct xr_description *d)
{
	unsigned a, b, c, e, last = 0;
	if (!__get_cpuid_count(0x18, 0, &last, &b, &c, &e))
		return;
	for (unsigned i = 0; i <= last && i < 64; i++) {
		if (!__get_cpuid_count(0x18, i, &a, &b, &c, &e))
			return;
		const char *name = xr_tlb_name_of_intel(b, e);
		if (name)
			put(d, name, xr_tlb_of_intel(b, c));
	}
}

/* Leaf 0x16: the highest clock rate, in MHz. Only where nobody else claimed one. */
static void claim_clock(struct xr_description *d)
{
	unsigned a, b, c, e;
	struct xr_fact *fact = xr_description_edit(d, "cpu.frequency");
	if (fact && !fact->claimed && __get_cpuid(0x16, &a, &b, &c, &e) && (b & 0xffff))
		xr_fact_claim(fact, json_real((b & 0xffff) * 1e6));
}

void xr_claims_cpu(struct xr_description *d)
{
	unsigned a, b, c, e;
	if (!__get_cpuid(0, &a, &b, &c, &e))
		return;
	if (b == signature_AMD_ebx || b == 0x6f677948) /* Hygon's processors are AMD's */
		claim_amd(d);
	else
		claim_intel(d);
	claim_clock(d);
}

bool xr_claims_virtual(void)
{
	unsigned a, b, c, e;
	return !__get_cpuid(1, &a, &b, &c, &e) || (c & 1u << 31);
}

#else
/* ---- device tree -------------------------------------------------------------------------------------------------- */

/* A cell of the first CPU's node, big-endian; 0: not there. */
static double tree_cell(const char *property)
{
	char path[512];
	unsigned char cell[8];
	double value = 0;
	DIR *dir = opendir("/proc/device-tree/cpus");
	for (struct dirent *entry; dir && !(value > 0) && (entry = readdir(dir));) {
		if (strncmp(entry->d_name, "cpu@", 4))
			continue;
		snprintf(path, sizeof path, "/proc/device-tree/cpus/%.200s/%s", entry->d_name, property);
		FILE *file = fopen(path, "rb");
		size_t n = file ? fread(cell, 1, sizeof cell, file) : 0;
		for (size_t i = 0; i < n && n % 4 == 0; i++)
			value = value * 256 + cell[i];
		if (file)
			fclose(file);
	}
	if (dir)
		closedir(dir);
	return value;
}

static void claim_tlb(struct xr_description *d, const char *level, const char *size, const char *sets)
{
	int entries = (int)tree_cell(size), n_sets = (int)tree_cell(sets);
	struct xr_tlb_claim claim = {entries, entries > 0 && n_sets > 0 ? entries / n_sets : 0};
	put(d, level, claim);
}

void xr_claims_cpu(struct xr_description *d)
{
	struct xr_fact *fact = xr_description_edit(d, "cpu.frequency");
	double hz = tree_cell("clock-frequency");
	if (fact && !fact->claimed && hz > 0)
		xr_fact_claim(fact, json_real(hz));
	claim_tlb(d, "d1", "d-tlb-size", "d-tlb-sets");
	claim_tlb(d, "i1", "i-tlb-size", "i-tlb-sets");
}

bool xr_claims_virtual(void)
{
	DIR *dir = opendir("/proc/device-tree/hypervisor"), *tree = opendir("/proc/device-tree/cpus");
	bool may_be = dir || !tree;
	if (dir)
		closedir(dir);
	if (tree)
		closedir(tree);
	return may_be;
}
#endif
