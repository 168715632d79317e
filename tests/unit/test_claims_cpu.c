/* SPDX-License-Identifier: MIT */
/* What a processor says of its TLBs, from the registers to numbers. */
#include "engine/claims_cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void amd_counts_entries_and_ways(void **state)
{
	(void)state;
	/* Zen 4: L1 dTLB 72 entries, fully associative; L2 dTLB 3072 entries, 24 ways have no code */
	assert_int_equal(xr_tlb_of_amd_l1(0xff48).entries, 72);
	assert_int_equal(xr_tlb_of_amd_l1(0xff48).ways, 72);
	assert_int_equal(xr_tlb_of_amd_l1(0x0440).ways, 4);
	assert_int_equal(xr_tlb_of_amd_l2(0x6600).entries, 1536);
	assert_int_equal(xr_tlb_of_amd_l2(0x6600).ways, 8);
	assert_int_equal(xr_tlb_of_amd_l2(0xf400).ways, 1024);
	assert_int_equal(xr_tlb_of_amd_l1(0).entries, 0);
}

static void intel_counts_ways_and_sets(void **state)
{
	(void)state;
	assert_int_equal(xr_tlb_of_intel(0x00040001, 16).entries, 64);
	assert_int_equal(xr_tlb_of_intel(0x00040001, 16).ways, 4);
	assert_int_equal(xr_tlb_of_intel(0, 0).entries, 0);
}

static void intel_has_tlbs_for_data_code_and_both(void **state)
{
	enum { DATA = 1, CODE, BOTH, LOADS, STORES, FIRST = 1 << 5, SECOND = 2 << 5 };
	(void)state;
	assert_string_equal(xr_tlb_name_of_intel(1, FIRST | DATA), "d1");
	assert_string_equal(xr_tlb_name_of_intel(1, FIRST | BOTH), "d1");
	assert_string_equal(xr_tlb_name_of_intel(3, FIRST | LOADS), "d1");
	assert_string_equal(xr_tlb_name_of_intel(1, FIRST | CODE), "i1");
	assert_string_equal(xr_tlb_name_of_intel(1, SECOND | BOTH), "d2");
	assert_null(xr_tlb_name_of_intel(1, FIRST | STORES));
	assert_null(xr_tlb_name_of_intel(1, SECOND | CODE));
	assert_null(xr_tlb_name_of_intel(2, FIRST | DATA)); /* of larger pages */
	assert_null(xr_tlb_name_of_intel(1, FIRST));
}

static void a_claim_needs_a_fact(void **state)
{
	struct xr_description *d = xr_description_new();
	(void)state;
	xr_claims_cpu(d);
	assert_int_equal(xr_description_count(d), 0);
	xr_description_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(amd_counts_entries_and_ways),
		cmocka_unit_test(intel_counts_ways_and_sets),
		cmocka_unit_test(intel_has_tlbs_for_data_code_and_both),
		cmocka_unit_test(a_claim_needs_a_fact),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
