/* SPDX-License-Identifier: MIT */
/* Instructions of 16 bits, each as the one of 32 bits that it stands for. */
#include "sim.h"

static uint32_t bits(uint32_t x, int high, int low)
{
	return x >> low & ((1u << (high - low + 1)) - 1);
}

static int32_t signed_of(uint32_t x, int width)
{
	return (int32_t)(x << (32 - width)) >> (32 - width);
}

static uint32_t itype(int32_t immediate, uint32_t rs1, uint32_t f3, uint32_t rd, uint32_t opcode)
{
	return (uint32_t)immediate << 20 | rs1 << 15 | f3 << 12 | rd << 7 | opcode;
}

static uint32_t stype(uint32_t immediate, uint32_t rs2, uint32_t rs1, uint32_t f3, uint32_t opcode)
{
	return bits(immediate, 11, 5) << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | bits(immediate, 4, 0) << 7 | opcode;
}

static uint32_t rtype(uint32_t f7, uint32_t rs2, uint32_t rs1, uint32_t f3, uint32_t rd, uint32_t opcode)
{
	return f7 << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | rd << 7 | opcode;
}

static uint32_t branch(int32_t offset, uint32_t rs1, uint32_t f3)
{
	uint32_t o = (uint32_t)offset;
	return bits(o, 12, 12) << 31 | bits(o, 10, 5) << 25 | rs1 << 15 | f3 << 12 | bits(o, 4, 1) << 8 |
	       bits(o, 11, 11) << 7 | 0x63;
}

static uint32_t jump(int32_t offset, uint32_t rd)
{
	uint32_t o = (uint32_t)offset;
	return bits(o, 20, 20) << 31 | bits(o, 10, 1) << 21 | bits(o, 11, 11) << 20 | bits(o, 19, 12) << 12 | rd << 7 |
	       0x6F;
}

static uint32_t quadrant0(uint32_t h)
{
	uint32_t rd = 8 + bits(h, 4, 2), rs1 = 8 + bits(h, 9, 7);
	uint32_t word = bits(h, 12, 10) << 3 | bits(h, 6, 6) << 2 | bits(h, 5, 5) << 6;
	uint32_t twice = bits(h, 12, 10) << 3 | bits(h, 6, 5) << 6;
	uint32_t addi4spn = bits(h, 12, 11) << 4 | bits(h, 10, 7) << 6 | bits(h, 6, 6) << 2 | bits(h, 5, 5) << 3;
	switch (h >> 13) {
	case 0:
		return addi4spn ? itype((int32_t)addi4spn, 2, 0, rd, 0x13) : 0;
	case 1:
		return itype((int32_t)twice, rs1, 3, rd, 0x07);
	case 2:
		return itype((int32_t)word, rs1, 2, rd, 0x03);
	case 3:
		return itype((int32_t)twice, rs1, 3, rd, 0x03);
	case 5:
		return stype(twice, rd, rs1, 3, 0x27);
	case 6:
		return stype(word, rd, rs1, 2, 0x23);
	case 7:
		return stype(twice, rd, rs1, 3, 0x23);
	default:
		return 0;
	}
}

static uint32_t arithmetic(uint32_t h, int32_t immediate)
{
	static const uint32_t f7[] = {0x20, 0, 0, 0}, f3[] = {0, 4, 6, 7};
	uint32_t rd = 8 + bits(h, 9, 7), rs2 = 8 + bits(h, 4, 2), which = bits(h, 6, 5),
		 shift = (uint32_t)immediate & 63;
	switch (bits(h, 11, 10)) {
	case 0:
		return itype((int32_t)shift, rd, 5, rd, 0x13);
	case 1:
		return itype((int32_t)(shift | 0x400), rd, 5, rd, 0x13);
	case 2:
		return itype(immediate, rd, 7, rd, 0x13);
	default:
		return bits(h, 12, 12) ? (which < 2 ? rtype(which ? 0 : 0x20, rs2, rd, 0, rd, 0x3B) : 0)
		                       : rtype(f7[which], rs2, rd, f3[which], rd, 0x33);
	}
}

static uint32_t quadrant1(uint32_t h)
{
	uint32_t rd = bits(h, 11, 7), rs1 = 8 + bits(h, 9, 7);
	int32_t immediate = signed_of(bits(h, 12, 12) << 5 | bits(h, 6, 2), 6);
	int32_t far =
		signed_of(bits(h, 12, 12) << 11 | bits(h, 11, 11) << 4 | bits(h, 10, 9) << 8 | bits(h, 8, 8) << 10 |
	                          bits(h, 7, 7) << 6 | bits(h, 6, 6) << 7 | bits(h, 5, 3) << 1 | bits(h, 2, 2) << 5,
	                  12);
	int32_t near = signed_of(bits(h, 12, 12) << 8 | bits(h, 11, 10) << 3 | bits(h, 6, 5) << 6 | bits(h, 4, 3) << 1 |
	                                 bits(h, 2, 2) << 5,
	                         9);
	int32_t addi16sp = signed_of(bits(h, 12, 12) << 9 | bits(h, 6, 6) << 4 | bits(h, 5, 5) << 6 |
	                                     bits(h, 4, 3) << 7 | bits(h, 2, 2) << 5,
	                             10);
	switch (h >> 13) {
	case 0:
		return itype(immediate, rd, 0, rd, 0x13);
	case 1:
		return itype(immediate, rd, 0, rd, 0x1B);
	case 2:
		return itype(immediate, 0, 0, rd, 0x13);
	case 3:
		return rd == 2 ? itype(addi16sp, 2, 0, 2, 0x13) : (uint32_t)immediate << 12 | rd << 7 | 0x37;
	case 4:
		return arithmetic(h, immediate);
	case 5:
		return jump(far, 0);
	case 6:
		return branch(near, rs1, 0);
	default:
		return branch(near, rs1, 1);
	}
}

static uint32_t quadrant2(uint32_t h)
{
	uint32_t rd = bits(h, 11, 7), rs2 = bits(h, 6, 2);
	uint32_t load4 = bits(h, 12, 12) << 5 | bits(h, 6, 4) << 2 | bits(h, 3, 2) << 6;
	uint32_t load8 = bits(h, 12, 12) << 5 | bits(h, 6, 5) << 3 | bits(h, 4, 2) << 6;
	uint32_t store4 = bits(h, 12, 9) << 2 | bits(h, 8, 7) << 6, store8 = bits(h, 12, 10) << 3 | bits(h, 9, 7) << 6;
	switch (h >> 13) {
	case 0:
		return itype((int32_t)(bits(h, 12, 12) << 5 | rs2), rd, 1, rd, 0x13);
	case 1:
		return itype((int32_t)load8, 2, 3, rd, 0x07);
	case 2:
		return itype((int32_t)load4, 2, 2, rd, 0x03);
	case 3:
		return itype((int32_t)load8, 2, 3, rd, 0x03);
	case 4:
		if (rs2)
			return rtype(0, rs2, bits(h, 12, 12) ? rd : 0, 0, rd, 0x33);
		return rd ? itype(0, rd, 0, bits(h, 12, 12), 0x67) : 0x00100073;
	case 5:
		return stype(store8, rs2, 2, 3, 0x27);
	case 6:
		return stype(store4, rs2, 2, 2, 0x23);
	default:
		return stype(store8, rs2, 2, 3, 0x23);
	}
}

uint32_t expand(uint16_t half)
{
	return (half & 3) == 0 ? quadrant0(half) : (half & 3) == 1 ? quadrant1(half) : quadrant2(half);
}
