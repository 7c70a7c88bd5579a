// SPDX-License-Identifier: MIT
/*
 * Each row is a member of a family of instructions.
 *
 * name:    enumerator NB_FN_<name>;
 * text:    operator, as the disassembler prints it;
 * inverse: the jump with the opposite condition, or NONE;
 * holds:   NB_ORDER_<holds>, the comparison of the operands that takes the
 *          jump (EQ, LT, SLT, ...); NONE if the instruction compares nothing.
 */
FN(NONE,      "",          NONE, NONE)
/* Arithmetic and logic (ALU) */
FN(ADD,       "+=",        NONE, NONE)
FN(SUB,       "-=",        NONE, NONE)
FN(MUL,       "*=",        NONE, NONE)
FN(DIV,       "/=",        NONE, NONE)
FN(OR,        "|=",        NONE, NONE)
FN(AND,       "&=",        NONE, NONE)
FN(LSH,       "<<=",       NONE, NONE)
FN(RSH,       ">>=",       NONE, NONE)
FN(MOD,       "%=",        NONE, NONE)
FN(XOR,       "^=",        NONE, NONE)
FN(MOV,       "=",         NONE, NONE)
FN(ARSH,      "s>>=",      NONE, NONE)
FN(SDIV,      "s/=",       NONE, NONE)
FN(SMOD,      "s%=",       NONE, NONE)
FN(MOVSX8,    "s8",        NONE, NONE)
FN(MOVSX16,   "s16",       NONE, NONE)
FN(MOVSX32,   "s32",       NONE, NONE)
FN(NEG,       "",          NONE, NONE)
FN(LE,        "le",        NONE, NONE)
FN(BE,        "be",        NONE, NONE)
FN(BSWAP,     "bswap",     NONE, NONE)
/* Conditional jumps (JMP) */
FN(JEQ,       "==",        JNE,  EQ)
FN(JGT,       ">",         JLE,  GT)
FN(JGE,       ">=",        JLT,  GE)
FN(JSET,      "&",         NONE, NONE)
FN(JNE,       "!=",        JEQ,  NE)
FN(JSGT,      "s>",        JSLE, SGT)
FN(JSGE,      "s>=",       JSLT, SGE)
FN(JLT,       "<",         JGE,  LT)
FN(JLE,       "<=",        JGT,  LE)
FN(JSLT,      "s<",        JSGE, SLT)
FN(JSLE,      "s<=",       JSGT, SLE)
/* Kinds of atomic operations (ATOMIC), in addition to ADD, OR, AND and XOR. */
FN(XCHG,      "xchg",      NONE, NONE)
FN(CMPXCHG,   "cmpxchg",   NONE, NONE)
/* Kinds of calls (CALL) */
FN(HELPER,    "",          NONE, NONE)
FN(LOCAL,     "",          NONE, NONE)
/* Kinds of 64-bit constants (LDDW) */
FN(IMM,       "",          NONE, NONE)
FN(MAP,       "",          NONE, NONE)
FN(MAP_VALUE, "",          NONE, NONE)
FN(FUNC,      "",          NONE, NONE)

#undef FN
