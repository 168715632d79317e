/* SPDX-License-Identifier: MIT */
/* What the processor says of itself: CPUID on x86, the device tree elsewhere. Claims like any other. */
#ifndef XR_ENGINE_CLAIMS_CPU_H
#define XR_ENGINE_CLAIMS_CPU_H

#include "facts/facts.h"

#include <stdbool.h>

void xr_claims_cpu(struct xr_description *d);
bool xr_claims_virtual(void); /* a hypervisor is below us, or may be: it says so, or nothing can be known */

/* What leaves 0x80000005/6 (AMD) and 0x18 (Intel) mean; pure, for tests. 0: not told. */
struct xr_tlb_claim {
	int entries, ways;
};
struct xr_tlb_claim xr_tlb_of_amd_l1(unsigned field); /* 16 bits: ways, entries */
struct xr_tlb_claim xr_tlb_of_amd_l2(unsigned field); /* 16 bits: code of ways, entries */
struct xr_tlb_claim xr_tlb_of_intel(unsigned ebx, unsigned ecx);
const char *xr_tlb_name_of_intel(unsigned ebx, unsigned edx); /* "d1", "i1", "d2"; NULL: none of them, or of larger pages */

#endif
