/* SPDX-License-Identifier: MIT */
/* What is counted in assembler text, for the architectures whose compilers write it. */
#include "target/host/look.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void counts_instructions_between_the_labels(void **state)
{
	static const char text[] =
		"f:\n\tmovl\t$1, %eax\nxr_begin_ab_7:\n\ttestq\t%rdi, %rdi\n.L3:\n\t.p2align 4\n"
		"\taddl\t%edx, %eax\n#APP\n#NO_APP\n\taddl\t%edx, %eax\n\tsubq\t$1, %rdi\n\tjne\t.L3\nxr_end_ab_8:\n\tret\n";
	(void)state;
	struct xr_look look = xr_look_at(text, "ab", 2, 0);
	assert_true(look.looked);
	assert_true(look.stack_refs == 0 && look.calls == 0);
	assert_true(look.insns >= 1 && look.insns <= 2.5);
}

static void sees_spills_and_calls(void **state)
{
	static const char x86[] =
		"xr_begin_1_7:\n.L1:\n\tmovl\t8(%rsp), %eax\n\taddl\t%edx, %eax\n\tmovl\t%eax, 8(%rsp)\n"
		"\tcall\tfmod\n\tjne\t.L1\nxr_end_1_8:\n";
	static const char arm[] =
		"xr_begin_1_7:\n.L1:\n\tldr\tw0, [sp, 8]\n\tadd\tw0, w0, w1\n\tstr\tw0, [sp, 8]\n\tbl\tfmod\n"
		"\tbne\t.L1\nxr_end_1_8:\n";
	static const char riscv[] =
		"xr_begin_1_7:\n.L1:\n\tlw\ta0,8(sp)\n\taddw\ta0,a0,a1\n\tsw\ta0,8(sp)\n\tcall\tfmod\n"
		"\tbne\ta1,zero,.L1\nxr_end_1_8:\n";
	static const char s390x[] =
		"xr_begin_1_7:\n.L1:\n\tl\t%r1,160(%r15)\n\tar\t%r1,%r2\n\tst\t%r1,160(%r15)\n\tbrasl\t%r14,fmod\n"
		"\tbrctg\t%r3,.L1\nxr_end_1_8:\n";
	static const char power[] =
		"xr_begin_1_7:\n.L1:\n\tlwz 9,96(1)\n\tadd 9,9,10\n\tstw 9,96(1)\n\tbl fmod\n\tbdnz .L1\nxr_end_1_8:\n";
	static const char avr[] =
		"xr_begin_1_7:\n.L1:\n\tldd r24,Y+1\n\tadd r24,r22\n\tstd Y+1,r24\n\trcall __mulsi3\n\tbrne .L1\n"
		"xr_end_1_8:\n";
	const char *const texts[] = {x86, arm, riscv, s390x, power, avr};
	(void)state;
	for (int i = 0; i < 6; i++) {
		struct xr_look look = xr_look_at(texts[i], "1", 1, 0);
		assert_true(look.looked);
		assert_true(look.stack_refs == 2);
		assert_true(look.calls == 1);
	}
}

static void leaves_out_what_compilers_do_at_the_ends(void **state)
{
	static const char text[] =
		"xr_begin_1_7:\n.L1:\n\tmovl\t8(%rsp), %eax\n\taddl\t%edx, %eax\n\txr_middle_1_17:\n\taddl\t%edx, %eax\n"
		"\taddl\t%edx, %eax\n\txr_last_1_18:\n\taddl\t%edx, %eax\n\tmovl\t%eax, 8(%rsp)\n\tjne\t.L1\nxr_end_1_8:\n";
	(void)state;
	struct xr_look look = xr_look_at(text, "1", 4, 2);
	assert_true(look.looked);
	assert_true(look.insns == 1 && look.stack_refs == 0);
	look = xr_look_at(text, "1", 4, 0);
	assert_true(look.stack_refs == 0.5);
}

static void says_when_there_is_nothing_to_look_at(void **state)
{
	(void)state;
	assert_false(xr_look_at("", "1", 1, 1).looked);
	assert_false(xr_look_at("xr_begin_1_7:\n\tnop\n", "1", 1, 1).looked);
	assert_false(xr_look_at("xr_end_1_8:\nxr_begin_1_7:\n", "1", 1, 1).looked);
	assert_false(xr_look_at("xr_begin_1_7:\nxr_end_1_8:\n", "1", 0, 0).looked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_instructions_between_the_labels),
		cmocka_unit_test(sees_spills_and_calls),
		cmocka_unit_test(leaves_out_what_compilers_do_at_the_ends),
		cmocka_unit_test(says_when_there_is_nothing_to_look_at),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
