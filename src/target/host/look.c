/* SPDX-License-Identifier: MIT */
/* Instructions are told from the rest of the text by its form alone: a line that begins with white space and then a
 * letter is an instruction; directives begin with a dot, labels end with a colon. That holds for every GNU assembler.
 * What a reference to the stack looks like, and what a call, is per architecture, in two small tables. */
#include "target/host/look.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *const stack_operands[] = {
	"(%rsp", "(%rbp", "(%esp", "(%ebp",  /* x86 */
	"[sp",   "[x29",  "[fp",   "[r7, #", /* AArch64, Arm */
	"(sp)",  "(s0)",                     /* RISC-V */
	"(%r15", "(%r11",                    /* s390x: stack and frame pointer */
	"(1)",   "(31)",                     /* Power */
	",Y+",   "Y+",                       /* AVR: the frame pointer */
};
static const char *const calls[] = {"call", "callq", "bl", "blx", "jal", "bctrl", "brasl", "rcall"};

static bool mentions_stack(const char *line, size_t len)
{
	for (size_t i = 0; i < sizeof stack_operands / sizeof *stack_operands; i++)
		if (memmem(line, len, stack_operands[i], strlen(stack_operands[i])))
			return true;
	return false;
}

static bool is_call(const char *mnemonic, size_t len)
{
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (strlen(calls[i]) == len && !memcmp(mnemonic, calls[i], len))
			return true;
	return false;
}

/* What copies or clears a register: AVR's multiplication leaves its product where the next one will. */
static bool is_move(const char *mnemonic, size_t len, const char *operands)
{
	static const char *const moves[] = {"mov", "movw", "mv", "mr", "clr", "lgr", "lr"};
	char a[16] = "", b[16] = "", more[2] = "";
	for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
		if (strlen(moves[i]) == len && !memcmp(mnemonic, moves[i], len))
			return true;
	return len == 3 && !memcmp(mnemonic, "eor", 3) &&
	       sscanf(operands, " %15[a-z0-9] , %15[a-z0-9] %1[,]", a, b, more) == 2 && !strcmp(a, b);
}

static const char *find_label(const char *text, const char *prefix, const char *id, char end)
{
	char label[64];
	snprintf(label, sizeof label, "%s%s%c", prefix, id, end);
	return strstr(text, label);
}

static void count(struct xr_look *look, const char *at, const char *end)
{
	for (at = strchr(at, '\n'); at && at < end; at = strchr(at, '\n')) {
		at++;
		size_t len = strcspn(at, "\n"), blank = strspn(at, " \t");
		const char *word = at + blank;
		size_t word_len = strcspn(word, " \t\n;");
		if (!blank || !isalpha((unsigned char)*word) || word_len == 0 || word[word_len - 1] == ':')
			continue;
		look->insns++;
		look->stack_refs += mentions_stack(at, len);
		look->calls += is_call(word, word_len);
		look->moves += is_move(word, word_len, word + word_len);
	}
}

struct xr_look xr_look_at(const char *assembly, const char *id, int body, int middle)
{
	struct xr_look look = {0};
	int statements = middle;
	const char *at = middle > 0 ? find_label(assembly, "xr_middle_", id, '_') : NULL;
	const char *end = at ? find_label(at, "xr_last_", id, '_') : NULL;
	if (!end) {
		statements = body;
		at = find_label(assembly, "xr_begin_", id, '_');
		end = at ? find_label(at, "xr_end_", id, '_') : NULL;
	}
	if (!end || statements <= 0)
		return look;
	look.looked = true;
	count(&look, at, end);
	look.insns /= statements;
	look.stack_refs /= statements;
	look.calls /= statements;
	look.moves /= statements;
	return look;
}
