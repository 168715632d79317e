/* SPDX-License-Identifier: MIT */
/* Instructions: RV64IMAFD with Zicsr, as Linux compilers use them. */
#include "sim.h"

#include <math.h>
#include <string.h>

#define FPU(n) (32 + (int)(n)) /* its registers come behind the integer ones in timing.ready */

struct decoded {
	uint32_t word, rd, rs1, rs2, f3, f7;
	uint64_t next; /* address behind it */
};

static void *at(struct cpu *c, uint64_t address)
{
	if (address >= (UINT64_C(1) << MEMORY_BITS) - 8)
		die(c, "address outside memory");
	return c->memory + address;
}

static void put(struct cpu *c, uint32_t rd, uint64_t value, int cycles)
{
	if (rd)
		c->x[rd] = value;
	timing_result(&c->t, (int)rd, cycles);
}

static uint64_t sext32(uint64_t value)
{
	return (uint64_t)(int64_t)(int32_t)value;
}

static int64_t immediate_i(uint32_t word)
{
	return (int32_t)word >> 20;
}

static void use(struct cpu *c, const struct decoded *d, int second)
{
	timing_use(&c->t, (int)d->rs1);
	if (second)
		timing_use(&c->t, (int)d->rs2);
}

static uint64_t read_memory(struct cpu *c, uint64_t address, uint32_t f3)
{
	uint64_t value = 0;
	memcpy(&value, at(c, address), 1u << (f3 & 3));
	switch (f3) {
	case 0:
		return (uint64_t)(int64_t)(int8_t)value;
	case 1:
		return (uint64_t)(int64_t)(int16_t)value;
	case 2:
		return sext32(value);
	default:
		return value;
	}
}

static void load(struct cpu *c, const struct decoded *d, int to_fpu)
{
	use(c, d, 0);
	uint64_t address = c->x[d->rs1] + (uint64_t)immediate_i(d->word), value = read_memory(c, address, d->f3);
	timing_load(&c->t, address, to_fpu ? FPU(d->rd) : (int)d->rd);
	if (to_fpu)
		c->f[d->rd].bits = d->f3 == 2 ? value | UINT64_C(0xFFFFFFFF00000000) : value;
	else if (d->rd)
		c->x[d->rd] = value;
}

static void store(struct cpu *c, const struct decoded *d, int from_fpu)
{
	int64_t offset = (int32_t)(d->word & 0xFE000000) >> 20 | (int32_t)d->rd;
	use(c, d, 0);
	timing_use(&c->t, from_fpu ? FPU(d->rs2) : (int)d->rs2);
	uint64_t address = c->x[d->rs1] + (uint64_t)offset;
	memcpy(at(c, address), from_fpu ? (void *)&c->f[d->rs2] : (void *)&c->x[d->rs2], 1u << (d->f3 & 3));
	timing_store(&c->t, address);
}

static uint64_t alu(uint32_t f3, int other, uint64_t a, uint64_t b, int wide)
{
	unsigned shift = (unsigned)b & (wide ? 63 : 31);
	switch (f3) {
	case 0:
		return other ? a - b : a + b;
	case 1:
		return a << shift;
	case 2:
		return (int64_t)a < (int64_t)b;
	case 3:
		return a < b;
	case 4:
		return a ^ b;
	case 5:
		if (!wide)
			return other ? (uint64_t)(int64_t)((int32_t)a >> shift) : (uint32_t)a >> shift;
		return other ? (uint64_t)((int64_t)a >> shift) : a >> shift;
	case 6:
		return a | b;
	default:
		return a & b;
	}
}

static uint64_t divide(uint32_t f3, uint64_t a, uint64_t b)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;
	switch (f3) {
	case 4:
		return !b ? ~UINT64_C(0) : sa == INT64_MIN && sb == -1 ? a : (uint64_t)(sa / sb);
	case 5:
		return !b ? ~UINT64_C(0) : a / b;
	case 6:
		return !b ? a : sa == INT64_MIN && sb == -1 ? 0 : (uint64_t)(sa % sb);
	default:
		return !b ? a : a % b;
	}
}

static uint64_t multiply(uint32_t f3, uint64_t a, uint64_t b, int wide)
{
	if (f3 >= 4) {
		if (wide)
			return divide(f3, a, b);
		return f3 & 1 ? divide(f3, (uint32_t)a, (uint32_t)b) : divide(f3, sext32(a), sext32(b));
	}
	switch (f3) {
	case 0:
		return a * b;
	case 1:
		return (uint64_t)((__int128)(int64_t)a * (int64_t)b >> 64);
	case 2:
		return (uint64_t)((__int128)(int64_t)a * (__int128)b >> 64);
	default:
		return (uint64_t)((unsigned __int128)a * b >> 64);
	}
}

static void arithmetic(struct cpu *c, const struct decoded *d, int immediate, int wide)
{
	uint64_t b = immediate ? (uint64_t)immediate_i(d->word) : c->x[d->rs2], value;
	int other = immediate ? d->f3 == 5 && d->word >> 30 & 1 : d->f7 == 0x20, cycles = 1;
	use(c, d, !immediate);
	if (!immediate && d->f7 == 1) {
		value = multiply(d->f3, c->x[d->rs1], b, wide);
		cycles = d->f3 < 4 ? c->t.mul : c->t.div;
	} else {
		value = alu(d->f3, other, c->x[d->rs1], b, wide);
	}
	put(c, d->rd, wide ? value : sext32(value), cycles);
}

static void branch(struct cpu *c, const struct decoded *d)
{
	uint32_t w = d->word;
	int64_t offset =
		(int64_t)((int32_t)(w & 0x80000000) >> 19) | (w << 4 & 0x800) | (w >> 20 & 0x7E0) | (w >> 7 & 0x1E);
	uint64_t a = c->x[d->rs1], b = c->x[d->rs2];
	int taken = d->f3 >> 1 == 0 ? a == b : d->f3 >> 1 == 2 ? (int64_t)a < (int64_t)b : a < b;
	use(c, d, 1);
	taken = taken != (int)(d->f3 & 1);
	timing_branch(&c->t, c->pc, taken);
	if (taken) {
		c->pc += (uint64_t)offset;
		c->t.cycle += (uint64_t)c->t.taken;
	} else {
		c->pc = d->next;
	}
}

static void jump(struct cpu *c, const struct decoded *d, int by_register)
{
	uint32_t w = d->word;
	int64_t offset =
		(int64_t)((int32_t)(w & 0x80000000) >> 11) | (w & 0xFF000) | (w >> 9 & 0x800) | (w >> 20 & 0x7FE);
	uint64_t to = c->pc + (uint64_t)offset;
	if (by_register) {
		use(c, d, 0);
		to = (c->x[d->rs1] + (uint64_t)immediate_i(w)) & ~UINT64_C(1);
	}
	put(c, d->rd, d->next, 1);
	c->pc = to;
	c->t.cycle += (uint64_t)c->t.taken;
}

static void atomic(struct cpu *c, const struct decoded *d)
{
	uint64_t address = c->x[d->rs1], operand = c->x[d->rs2], old = 0, value = operand;
	use(c, d, 1);
	uint32_t which = d->f7 >> 2;
	if (which == 3) { /* store conditional */
		int held = c->reserved == address + 1;
		if (held)
			memcpy(at(c, address), &operand, 1u << d->f3);
		timing_store(&c->t, address);
		c->reserved = 0;
		put(c, d->rd, !held, 1);
		return;
	}
	old = read_memory(c, address, d->f3);
	int64_t a = (int64_t)old, b = d->f3 == 2 ? (int64_t)sext32(operand) : (int64_t)operand;
	uint64_t ua = d->f3 == 2 ? (uint32_t)old : old, ub = d->f3 == 2 ? (uint32_t)operand : operand;
	switch (which) {
	case 0:
		value = old + operand;
		break;
	case 4:
		value = old ^ operand;
		break;
	case 8:
		value = old | operand;
		break;
	case 12:
		value = old & operand;
		break;
	case 16:
		value = a < b ? old : operand;
		break;
	case 20:
		value = a > b ? old : operand;
		break;
	case 24:
		value = ua < ub ? old : operand;
		break;
	case 28:
		value = ua > ub ? old : operand;
		break;
	default:
		break;
	}
	if (which == 2)
		c->reserved = address + 1;
	else
		memcpy(at(c, address), &value, 1u << d->f3);
	timing_load(&c->t, address, (int)d->rd);
	if (d->rd)
		c->x[d->rd] = old;
}

static void system_instruction(struct cpu *c, const struct decoded *d)
{
	uint64_t old = 0, operand = d->f3 & 4 ? d->rs1 : c->x[d->rs1];
	if (!d->f3) {
		if (d->word != 0x73)
			die(c, "ebreak");
		system_call(c);
		return;
	}
	switch (d->word >> 20) {
	case 1:
		old = c->fcsr & 31;
		break;
	case 2:
		old = c->fcsr >> 5;
		break;
	case 3:
		old = c->fcsr;
		break;
	case 0xC00:
		timing_drain(&c->t);
		old = c->t.cycle;
		break;
	case 0xC01:
		old = (uint64_t)((double)c->t.cycle * (1e9 / c->t.hz));
		break;
	case 0xC02:
		old = c->t.instructions;
		break;
	default:
		die(c, "no such register of state");
	}
	uint64_t value = (d->f3 & 3) == 1 ? operand : (d->f3 & 3) == 2 ? old | operand : old & ~operand;
	if (d->word >> 20 < 4)
		c->fcsr = d->word >> 20 == 1   ? (c->fcsr & ~UINT64_C(31)) | (value & 31)
		          : d->word >> 20 == 2 ? (c->fcsr & 31) | (value & 7) << 5
		                               : value & 255;
	put(c, d->rd, old, 1);
}

/* ---- floating point: rounds to nearest, conversions to integers as they ask ---- */

static double rounded(double x, uint32_t mode)
{
	return mode == 1 ? trunc(x) : mode == 2 ? floor(x) : mode == 3 ? ceil(x) : mode == 4 ? round(x) : nearbyint(x);
}

static uint64_t to_integer(double x, uint32_t kind, uint32_t mode)
{
	x = rounded(x, mode);
	switch (kind) {
	case 0:
		return x >= 2147483647.0 || x != x ? INT32_MAX
		       : x <= -2147483648.0        ? sext32(0x80000000)
		                                   : (uint64_t)(int64_t)x;
	case 1:
		return x >= 4294967295.0 || x != x ? ~UINT64_C(0) : x <= 0 ? 0 : sext32((uint64_t)x);
	case 2:
		return x >= 9223372036854775807.0 || x != x ? INT64_MAX
		       : x <= -9223372036854775808.0        ? UINT64_C(1) << 63
		                                            : (uint64_t)(int64_t)x;
	default:
		return x >= 18446744073709551615.0 || x != x ? ~UINT64_C(0) : x <= 0 ? 0 : (uint64_t)x;
	}
}

static uint64_t class_of(double x, int tiny)
{
	int minus = signbit(x) != 0;
	if (x != x)
		return 1u << 9;
	if (isinf(x))
		return minus ? 1 : 1u << 7;
	if (x == 0)
		return minus ? 1u << 3 : 1u << 4;
	return tiny ? (minus ? 1u << 2 : 1u << 5) : (minus ? 1u << 1 : 1u << 6);
}

static void set_f(struct cpu *c, uint32_t rd, double value, int wide, int cycles)
{
	if (wide) {
		c->f[rd].d = value;
	} else {
		c->f[rd].bits = ~UINT64_C(0);
		c->f[rd].s = (float)value;
	}
	timing_result(&c->t, FPU(rd), cycles);
}

static double get_f(const struct cpu *c, uint32_t r, int wide)
{
	return wide ? c->f[r].d : (double)c->f[r].s;
}

static void sign_inject(struct cpu *c, const struct decoded *d, int wide)
{
	uint64_t sign = wide ? UINT64_C(1) << 63 : UINT64_C(1) << 31, a = c->f[d->rs1].bits, b = c->f[d->rs2].bits;
	uint64_t s = d->f3 == 0 ? b : d->f3 == 1 ? ~b : a ^ b;
	c->f[d->rd].bits = (a & ~sign) | (s & sign);
	timing_result(&c->t, FPU(d->rd), 1);
}

/* What ends in an integer register. 0: none of them. */
static int float_to_x(struct cpu *c, const struct decoded *d, int wide)
{
	double a = get_f(c, d->rs1, wide), b = get_f(c, d->rs2, wide);
	switch (d->f7 & ~1u) {
	case 0x50:
		put(c, d->rd, d->f3 == 0 ? a <= b : d->f3 == 1 ? a < b : a == b, c->t.fp);
		return 1;
	case 0x60:
		put(c, d->rd, to_integer(a, d->rs2, d->f3 == 7 ? (uint32_t)c->fcsr >> 5 : d->f3), c->t.fp);
		return 1;
	case 0x70:
		if (d->f3)
			put(c, d->rd, class_of(a, !(wide ? isnormal(c->f[d->rs1].d) : isnormal(c->f[d->rs1].s))), 1);
		else
			put(c, d->rd, wide ? c->f[d->rs1].bits : sext32(c->f[d->rs1].low), 1);
		return 1;
	default:
		return 0;
	}
}

static double from_integer(const struct cpu *c, const struct decoded *d)
{
	uint64_t x = c->x[d->rs1];
	return d->rs2 == 0   ? (double)(int32_t)x
	       : d->rs2 == 1 ? (double)(uint32_t)x
	       : d->rs2 == 2 ? (double)(int64_t)x
	                     : (double)x;
}

static void floating(struct cpu *c, const struct decoded *d)
{
	int wide = d->f7 & 1;
	double a = get_f(c, d->rs1, wide), b = get_f(c, d->rs2, wide);
	uint32_t which = d->f7 & ~1u;
	timing_use(&c->t, which == 0x68 || which == 0x78 ? (int)d->rs1 : FPU(d->rs1));
	if (which < 0x18 || which == 0x50)
		timing_use(&c->t, FPU(d->rs2));
	if (float_to_x(c, d, wide))
		return;
	switch (which) {
	case 0x00:
		set_f(c, d->rd, a + b, wide, c->t.fp);
		return;
	case 0x04:
		set_f(c, d->rd, a - b, wide, c->t.fp);
		return;
	case 0x08:
		set_f(c, d->rd, a * b, wide, c->t.fp);
		return;
	case 0x0C:
		set_f(c, d->rd, a / b, wide, c->t.fdiv);
		return;
	case 0x2C:
		set_f(c, d->rd, wide ? sqrt(a) : (double)sqrtf((float)a), wide, c->t.fdiv);
		return;
	case 0x10:
		sign_inject(c, d, wide);
		return;
	case 0x14:
		set_f(c, d->rd, d->f3 ? fmax(a, b) : fmin(a, b), wide, c->t.fp);
		return;
	case 0x20:
		set_f(c, d->rd, get_f(c, d->rs1, !wide), wide, c->t.fp);
		return;
	case 0x68:
		if (!wide) { /* once rounded */
			uint64_t x = c->x[d->rs1];
			float s = d->rs2 == 2 ? (float)(int64_t)x : d->rs2 == 3 ? (float)x : (float)from_integer(c, d);
			set_f(c, d->rd, (double)s, 0, c->t.fp);
			return;
		}
		set_f(c, d->rd, from_integer(c, d), 1, c->t.fp);
		return;
	case 0x78:
		c->f[d->rd].bits = wide ? c->x[d->rs1] : c->x[d->rs1] | UINT64_C(0xFFFFFFFF00000000);
		timing_result(&c->t, FPU(d->rd), 1);
		return;
	default:
		die(c, "no such instruction of the FPU");
	}
}

static void fused(struct cpu *c, const struct decoded *d)
{
	int wide = d->word >> 25 & 1, minus_product = d->word >> 3 & 1, minus_sum = d->word >> 2 & 1;
	uint32_t rs3 = d->word >> 27;
	double a = get_f(c, d->rs1, wide), b = get_f(c, d->rs2, wide), s = get_f(c, rs3, wide);
	timing_use(&c->t, FPU(d->rs1));
	timing_use(&c->t, FPU(d->rs2));
	timing_use(&c->t, FPU(rs3));
	a = minus_product ? -a : a;
	s = minus_sum ? -s : s;
	set_f(c, d->rd, wide ? fma(a, b, s) : (double)fmaf((float)a, (float)b, (float)s), wide, c->t.fp);
}

void cpu_step(struct cpu *c)
{
	uint32_t w;
	struct decoded d;
	memcpy(&w, at(c, c->pc), 4);
	timing_fetch(&c->t, c->pc);
	d.next = c->pc + ((w & 3) == 3 ? 4 : 2);
	if ((w & 3) != 3)
		w = expand((uint16_t)w);
	d.word = w;
	d.rd = w >> 7 & 31;
	d.rs1 = w >> 15 & 31;
	d.rs2 = w >> 20 & 31;
	d.f3 = w >> 12 & 7;
	d.f7 = w >> 25;
	switch (w & 0x7F) {
	case 0x03:
		load(c, &d, 0);
		break;
	case 0x07:
		load(c, &d, 1);
		break;
	case 0x0F:
		break;
	case 0x13:
		arithmetic(c, &d, 1, 1);
		break;
	case 0x17:
		put(c, d.rd, c->pc + sext32(w & 0xFFFFF000), 1);
		break;
	case 0x1B:
		arithmetic(c, &d, 1, 0);
		break;
	case 0x23:
		store(c, &d, 0);
		break;
	case 0x27:
		store(c, &d, 1);
		break;
	case 0x2F:
		atomic(c, &d);
		break;
	case 0x33:
		arithmetic(c, &d, 0, 1);
		break;
	case 0x37:
		put(c, d.rd, sext32(w & 0xFFFFF000), 1);
		break;
	case 0x3B:
		arithmetic(c, &d, 0, 0);
		break;
	case 0x43:
	case 0x47:
	case 0x4B:
	case 0x4F:
		fused(c, &d);
		break;
	case 0x53:
		floating(c, &d);
		break;
	case 0x63:
		branch(c, &d);
		return;
	case 0x67:
		jump(c, &d, 1);
		return;
	case 0x6F:
		jump(c, &d, 0);
		return;
	case 0x73:
		system_instruction(c, &d);
		break;
	default:
		die(c, "no such instruction");
	}
	c->pc = d.next;
}
