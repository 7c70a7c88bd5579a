// SPDX-License-Identifier: MIT
/*
 * Each row is an instruction of RFC 9669; may_goto, loads that acquire and
 * stores that release are the Linux kernel's additions.
 *
 * name:    enumerator NB_OP_<name>;
 * opcode:  first byte of the slot;
 * dst src: register fields: ANY a register number r0..r10, a number: that;
 * off imm: ANY any value (it means something), a number: exactly that; so a
 *          reserved field is a 0 here and decoding refuses everything else;
 * kind:    NB_KIND_<kind>: what family the instruction belongs to;
 * fn:      NB_FN_<fn>: which member of the family;
 * width:   bits the operation works on; a load or store: bits in memory;
 * operand: second operand: NB_OPND_IMM, NB_OPND_REG or NB_OPND_NONE;
 * reads:   registers it reads: any of D (dst), S (src) and 0 (r0); ARGS: r1 to
 *          r5, of a helper those that its row names;
 * writes:  registers it writes, likewise; CALLER: r0 to r5;
 * traits:  NONE or any of
 *          MOVE     dst gets src or the immediate, and its old value is lost
 *          SUM      the sum or difference: a pointer remains one
 *          CANCELS  the result of two equal operands is 0; with SUM: the difference
 *          SHIFT    the second operand is a number of bits
 *          DIVIDE   the second operand is a divisor
 *          MODULO   with DIVIDE: the result is the remainder
 *          SIGNED   numbers are signed; a load or move extends the sign
 *          ORDERED  a load acquires, a store releases
 *          FETCH    an atomic operation also returns the old value
 *          JUMP     it may continue at its target
 *          FAR      the distance of its target is in imm, not in off;
 * isa:     first -mcpu version (1 to 4) at which a compiler emits it;
 * mnemonic: text form as bpf_conformance's data files write it.
 *
 * The first line of a row is the encoding, the second its meaning.
 *
 * Rows with the same opcode stand together only by accident; no two rows
 * match the same eight bytes (tested).
 */
INSN(ADD32_K,            0x04, ANY, 0,   0,   ANY,
	ALU,      ADD,       32, IMM,  D,    D,      SUM,                  1, "add32")
INSN(ADD32_X,            0x0c, ANY, ANY, 0,   0,
	ALU,      ADD,       32, REG,  DS,   D,      SUM,                  1, "add32")
INSN(SUB32_K,            0x14, ANY, 0,   0,   ANY,
	ALU,      SUB,       32, IMM,  D,    D,      SUM|CANCELS,          1, "sub32")
INSN(SUB32_X,            0x1c, ANY, ANY, 0,   0,
	ALU,      SUB,       32, REG,  DS,   D,      SUM|CANCELS,          1, "sub32")
INSN(MUL32_K,            0x24, ANY, 0,   0,   ANY,
	ALU,      MUL,       32, IMM,  D,    D,      NONE,                 1, "mul32")
INSN(MUL32_X,            0x2c, ANY, ANY, 0,   0,
	ALU,      MUL,       32, REG,  DS,   D,      NONE,                 1, "mul32")
INSN(DIV32_K,            0x34, ANY, 0,   0,   ANY,
	ALU,      DIV,       32, IMM,  D,    D,      DIVIDE,               1, "div32")
INSN(DIV32_X,            0x3c, ANY, ANY, 0,   0,
	ALU,      DIV,       32, REG,  DS,   D,      DIVIDE,               1, "div32")
INSN(OR32_K,             0x44, ANY, 0,   0,   ANY,
	ALU,      OR,        32, IMM,  D,    D,      NONE,                 1, "or32")
INSN(OR32_X,             0x4c, ANY, ANY, 0,   0,
	ALU,      OR,        32, REG,  DS,   D,      NONE,                 1, "or32")
INSN(AND32_K,            0x54, ANY, 0,   0,   ANY,
	ALU,      AND,       32, IMM,  D,    D,      NONE,                 1, "and32")
INSN(AND32_X,            0x5c, ANY, ANY, 0,   0,
	ALU,      AND,       32, REG,  DS,   D,      NONE,                 1, "and32")
INSN(LSH32_K,            0x64, ANY, 0,   0,   ANY,
	ALU,      LSH,       32, IMM,  D,    D,      SHIFT,                1, "lsh32")
INSN(LSH32_X,            0x6c, ANY, ANY, 0,   0,
	ALU,      LSH,       32, REG,  DS,   D,      SHIFT,                1, "lsh32")
INSN(RSH32_K,            0x74, ANY, 0,   0,   ANY,
	ALU,      RSH,       32, IMM,  D,    D,      SHIFT,                1, "rsh32")
INSN(RSH32_X,            0x7c, ANY, ANY, 0,   0,
	ALU,      RSH,       32, REG,  DS,   D,      SHIFT,                1, "rsh32")
INSN(MOD32_K,            0x94, ANY, 0,   0,   ANY,
	ALU,      MOD,       32, IMM,  D,    D,      DIVIDE|MODULO,        1, "mod32")
INSN(MOD32_X,            0x9c, ANY, ANY, 0,   0,
	ALU,      MOD,       32, REG,  DS,   D,      DIVIDE|MODULO,        1, "mod32")
INSN(XOR32_K,            0xa4, ANY, 0,   0,   ANY,
	ALU,      XOR,       32, IMM,  D,    D,      CANCELS,              1, "xor32")
INSN(XOR32_X,            0xac, ANY, ANY, 0,   0,
	ALU,      XOR,       32, REG,  DS,   D,      CANCELS,              1, "xor32")
INSN(MOV32_K,            0xb4, ANY, 0,   0,   ANY,
	ALU,      MOV,       32, IMM,  NONE, D,      MOVE,                 1, "mov32")
INSN(MOV32_X,            0xbc, ANY, ANY, 0,   0,
	ALU,      MOV,       32, REG,  S,    D,      MOVE,                 1, "mov32")
INSN(ARSH32_K,           0xc4, ANY, 0,   0,   ANY,
	ALU,      ARSH,      32, IMM,  D,    D,      SHIFT|SIGNED,         1, "arsh32")
INSN(ARSH32_X,           0xcc, ANY, ANY, 0,   0,
	ALU,      ARSH,      32, REG,  DS,   D,      SHIFT|SIGNED,         1, "arsh32")
INSN(SDIV32_K,           0x34, ANY, 0,   1,   ANY,
	ALU,      SDIV,      32, IMM,  D,    D,      DIVIDE|SIGNED,        4, "sdiv32")
INSN(SDIV32_X,           0x3c, ANY, ANY, 1,   0,
	ALU,      SDIV,      32, REG,  DS,   D,      DIVIDE|SIGNED,        4, "sdiv32")
INSN(SMOD32_K,           0x94, ANY, 0,   1,   ANY,
	ALU,      SMOD,      32, IMM,  D,    D,      DIVIDE|SIGNED|MODULO, 4, "smod32")
INSN(SMOD32_X,           0x9c, ANY, ANY, 1,   0,
	ALU,      SMOD,      32, REG,  DS,   D,      DIVIDE|SIGNED|MODULO, 4, "smod32")
INSN(MOVSX8_32,          0xbc, ANY, ANY, 8,   0,
	ALU,      MOVSX8,    32, REG,  S,    D,      MOVE|SIGNED,          4, "movsx832")
INSN(MOVSX16_32,         0xbc, ANY, ANY, 16,  0,
	ALU,      MOVSX16,   32, REG,  S,    D,      MOVE|SIGNED,          4, "movsx1632")
INSN(NEG32,              0x84, ANY, 0,   0,   0,
	ALU,      NEG,       32, NONE, D,    D,      NONE,                 1, "neg32")
INSN(ADD64_K,            0x07, ANY, 0,   0,   ANY,
	ALU,      ADD,       64, IMM,  D,    D,      SUM,                  1, "add")
INSN(ADD64_X,            0x0f, ANY, ANY, 0,   0,
	ALU,      ADD,       64, REG,  DS,   D,      SUM,                  1, "add")
INSN(SUB64_K,            0x17, ANY, 0,   0,   ANY,
	ALU,      SUB,       64, IMM,  D,    D,      SUM|CANCELS,          1, "sub")
INSN(SUB64_X,            0x1f, ANY, ANY, 0,   0,
	ALU,      SUB,       64, REG,  DS,   D,      SUM|CANCELS,          1, "sub")
INSN(MUL64_K,            0x27, ANY, 0,   0,   ANY,
	ALU,      MUL,       64, IMM,  D,    D,      NONE,                 1, "mul")
INSN(MUL64_X,            0x2f, ANY, ANY, 0,   0,
	ALU,      MUL,       64, REG,  DS,   D,      NONE,                 1, "mul")
INSN(DIV64_K,            0x37, ANY, 0,   0,   ANY,
	ALU,      DIV,       64, IMM,  D,    D,      DIVIDE,               1, "div")
INSN(DIV64_X,            0x3f, ANY, ANY, 0,   0,
	ALU,      DIV,       64, REG,  DS,   D,      DIVIDE,               1, "div")
INSN(OR64_K,             0x47, ANY, 0,   0,   ANY,
	ALU,      OR,        64, IMM,  D,    D,      NONE,                 1, "or")
INSN(OR64_X,             0x4f, ANY, ANY, 0,   0,
	ALU,      OR,        64, REG,  DS,   D,      NONE,                 1, "or")
INSN(AND64_K,            0x57, ANY, 0,   0,   ANY,
	ALU,      AND,       64, IMM,  D,    D,      NONE,                 1, "and")
INSN(AND64_X,            0x5f, ANY, ANY, 0,   0,
	ALU,      AND,       64, REG,  DS,   D,      NONE,                 1, "and")
INSN(LSH64_K,            0x67, ANY, 0,   0,   ANY,
	ALU,      LSH,       64, IMM,  D,    D,      SHIFT,                1, "lsh")
INSN(LSH64_X,            0x6f, ANY, ANY, 0,   0,
	ALU,      LSH,       64, REG,  DS,   D,      SHIFT,                1, "lsh")
INSN(RSH64_K,            0x77, ANY, 0,   0,   ANY,
	ALU,      RSH,       64, IMM,  D,    D,      SHIFT,                1, "rsh")
INSN(RSH64_X,            0x7f, ANY, ANY, 0,   0,
	ALU,      RSH,       64, REG,  DS,   D,      SHIFT,                1, "rsh")
INSN(MOD64_K,            0x97, ANY, 0,   0,   ANY,
	ALU,      MOD,       64, IMM,  D,    D,      DIVIDE|MODULO,        1, "mod")
INSN(MOD64_X,            0x9f, ANY, ANY, 0,   0,
	ALU,      MOD,       64, REG,  DS,   D,      DIVIDE|MODULO,        1, "mod")
INSN(XOR64_K,            0xa7, ANY, 0,   0,   ANY,
	ALU,      XOR,       64, IMM,  D,    D,      CANCELS,              1, "xor")
INSN(XOR64_X,            0xaf, ANY, ANY, 0,   0,
	ALU,      XOR,       64, REG,  DS,   D,      CANCELS,              1, "xor")
INSN(MOV64_K,            0xb7, ANY, 0,   0,   ANY,
	ALU,      MOV,       64, IMM,  NONE, D,      MOVE,                 1, "mov")
INSN(MOV64_X,            0xbf, ANY, ANY, 0,   0,
	ALU,      MOV,       64, REG,  S,    D,      MOVE,                 1, "mov")
INSN(ARSH64_K,           0xc7, ANY, 0,   0,   ANY,
	ALU,      ARSH,      64, IMM,  D,    D,      SHIFT|SIGNED,         1, "arsh")
INSN(ARSH64_X,           0xcf, ANY, ANY, 0,   0,
	ALU,      ARSH,      64, REG,  DS,   D,      SHIFT|SIGNED,         1, "arsh")
INSN(SDIV64_K,           0x37, ANY, 0,   1,   ANY,
	ALU,      SDIV,      64, IMM,  D,    D,      DIVIDE|SIGNED,        4, "sdiv")
INSN(SDIV64_X,           0x3f, ANY, ANY, 1,   0,
	ALU,      SDIV,      64, REG,  DS,   D,      DIVIDE|SIGNED,        4, "sdiv")
INSN(SMOD64_K,           0x97, ANY, 0,   1,   ANY,
	ALU,      SMOD,      64, IMM,  D,    D,      DIVIDE|SIGNED|MODULO, 4, "smod")
INSN(SMOD64_X,           0x9f, ANY, ANY, 1,   0,
	ALU,      SMOD,      64, REG,  DS,   D,      DIVIDE|SIGNED|MODULO, 4, "smod")
INSN(MOVSX8_64,          0xbf, ANY, ANY, 8,   0,
	ALU,      MOVSX8,    64, REG,  S,    D,      MOVE|SIGNED,          4, "movsx864")
INSN(MOVSX16_64,         0xbf, ANY, ANY, 16,  0,
	ALU,      MOVSX16,   64, REG,  S,    D,      MOVE|SIGNED,          4, "movsx1664")
INSN(MOVSX32_64,         0xbf, ANY, ANY, 32,  0,
	ALU,      MOVSX32,   64, REG,  S,    D,      MOVE|SIGNED,          4, "movsx3264")
INSN(NEG64,              0x87, ANY, 0,   0,   0,
	ALU,      NEG,       64, NONE, D,    D,      NONE,                 1, "neg")
INSN(LE16,               0xd4, ANY, 0,   0,   16,
	ALU,      LE,        16, NONE, D,    D,      NONE,                 1, "le16")
INSN(LE32,               0xd4, ANY, 0,   0,   32,
	ALU,      LE,        32, NONE, D,    D,      NONE,                 1, "le32")
INSN(LE64,               0xd4, ANY, 0,   0,   64,
	ALU,      LE,        64, NONE, D,    D,      NONE,                 1, "le64")
INSN(BE16,               0xdc, ANY, 0,   0,   16,
	ALU,      BE,        16, NONE, D,    D,      NONE,                 1, "be16")
INSN(BE32,               0xdc, ANY, 0,   0,   32,
	ALU,      BE,        32, NONE, D,    D,      NONE,                 1, "be32")
INSN(BE64,               0xdc, ANY, 0,   0,   64,
	ALU,      BE,        64, NONE, D,    D,      NONE,                 1, "be64")
INSN(BSWAP16,            0xd7, ANY, 0,   0,   16,
	ALU,      BSWAP,     16, NONE, D,    D,      NONE,                 4, "bswap16")
INSN(BSWAP32,            0xd7, ANY, 0,   0,   32,
	ALU,      BSWAP,     32, NONE, D,    D,      NONE,                 4, "bswap32")
INSN(BSWAP64,            0xd7, ANY, 0,   0,   64,
	ALU,      BSWAP,     64, NONE, D,    D,      NONE,                 4, "bswap64")
INSN(JEQ64_K,            0x15, ANY, 0,   ANY, ANY,
	JMP,      JEQ,       64, IMM,  D,    NONE,   JUMP,                 1, "jeq")
INSN(JEQ64_X,            0x1d, ANY, ANY, ANY, 0,
	JMP,      JEQ,       64, REG,  DS,   NONE,   JUMP,                 1, "jeq")
INSN(JGT64_K,            0x25, ANY, 0,   ANY, ANY,
	JMP,      JGT,       64, IMM,  D,    NONE,   JUMP,                 1, "jgt")
INSN(JGT64_X,            0x2d, ANY, ANY, ANY, 0,
	JMP,      JGT,       64, REG,  DS,   NONE,   JUMP,                 1, "jgt")
INSN(JGE64_K,            0x35, ANY, 0,   ANY, ANY,
	JMP,      JGE,       64, IMM,  D,    NONE,   JUMP,                 1, "jge")
INSN(JGE64_X,            0x3d, ANY, ANY, ANY, 0,
	JMP,      JGE,       64, REG,  DS,   NONE,   JUMP,                 1, "jge")
INSN(JSET64_K,           0x45, ANY, 0,   ANY, ANY,
	JMP,      JSET,      64, IMM,  D,    NONE,   JUMP,                 1, "jset")
INSN(JSET64_X,           0x4d, ANY, ANY, ANY, 0,
	JMP,      JSET,      64, REG,  DS,   NONE,   JUMP,                 1, "jset")
INSN(JNE64_K,            0x55, ANY, 0,   ANY, ANY,
	JMP,      JNE,       64, IMM,  D,    NONE,   JUMP,                 1, "jne")
INSN(JNE64_X,            0x5d, ANY, ANY, ANY, 0,
	JMP,      JNE,       64, REG,  DS,   NONE,   JUMP,                 1, "jne")
INSN(JSGT64_K,           0x65, ANY, 0,   ANY, ANY,
	JMP,      JSGT,      64, IMM,  D,    NONE,   JUMP|SIGNED,          1, "jsgt")
INSN(JSGT64_X,           0x6d, ANY, ANY, ANY, 0,
	JMP,      JSGT,      64, REG,  DS,   NONE,   JUMP|SIGNED,          1, "jsgt")
INSN(JSGE64_K,           0x75, ANY, 0,   ANY, ANY,
	JMP,      JSGE,      64, IMM,  D,    NONE,   JUMP|SIGNED,          1, "jsge")
INSN(JSGE64_X,           0x7d, ANY, ANY, ANY, 0,
	JMP,      JSGE,      64, REG,  DS,   NONE,   JUMP|SIGNED,          1, "jsge")
INSN(JLT64_K,            0xa5, ANY, 0,   ANY, ANY,
	JMP,      JLT,       64, IMM,  D,    NONE,   JUMP,                 2, "jlt")
INSN(JLT64_X,            0xad, ANY, ANY, ANY, 0,
	JMP,      JLT,       64, REG,  DS,   NONE,   JUMP,                 2, "jlt")
INSN(JLE64_K,            0xb5, ANY, 0,   ANY, ANY,
	JMP,      JLE,       64, IMM,  D,    NONE,   JUMP,                 2, "jle")
INSN(JLE64_X,            0xbd, ANY, ANY, ANY, 0,
	JMP,      JLE,       64, REG,  DS,   NONE,   JUMP,                 2, "jle")
INSN(JSLT64_K,           0xc5, ANY, 0,   ANY, ANY,
	JMP,      JSLT,      64, IMM,  D,    NONE,   JUMP|SIGNED,          2, "jslt")
INSN(JSLT64_X,           0xcd, ANY, ANY, ANY, 0,
	JMP,      JSLT,      64, REG,  DS,   NONE,   JUMP|SIGNED,          2, "jslt")
INSN(JSLE64_K,           0xd5, ANY, 0,   ANY, ANY,
	JMP,      JSLE,      64, IMM,  D,    NONE,   JUMP|SIGNED,          2, "jsle")
INSN(JSLE64_X,           0xdd, ANY, ANY, ANY, 0,
	JMP,      JSLE,      64, REG,  DS,   NONE,   JUMP|SIGNED,          2, "jsle")
INSN(JEQ32_K,            0x16, ANY, 0,   ANY, ANY,
	JMP,      JEQ,       32, IMM,  D,    NONE,   JUMP,                 3, "jeq32")
INSN(JEQ32_X,            0x1e, ANY, ANY, ANY, 0,
	JMP,      JEQ,       32, REG,  DS,   NONE,   JUMP,                 3, "jeq32")
INSN(JGT32_K,            0x26, ANY, 0,   ANY, ANY,
	JMP,      JGT,       32, IMM,  D,    NONE,   JUMP,                 3, "jgt32")
INSN(JGT32_X,            0x2e, ANY, ANY, ANY, 0,
	JMP,      JGT,       32, REG,  DS,   NONE,   JUMP,                 3, "jgt32")
INSN(JGE32_K,            0x36, ANY, 0,   ANY, ANY,
	JMP,      JGE,       32, IMM,  D,    NONE,   JUMP,                 3, "jge32")
INSN(JGE32_X,            0x3e, ANY, ANY, ANY, 0,
	JMP,      JGE,       32, REG,  DS,   NONE,   JUMP,                 3, "jge32")
INSN(JSET32_K,           0x46, ANY, 0,   ANY, ANY,
	JMP,      JSET,      32, IMM,  D,    NONE,   JUMP,                 3, "jset32")
INSN(JSET32_X,           0x4e, ANY, ANY, ANY, 0,
	JMP,      JSET,      32, REG,  DS,   NONE,   JUMP,                 3, "jset32")
INSN(JNE32_K,            0x56, ANY, 0,   ANY, ANY,
	JMP,      JNE,       32, IMM,  D,    NONE,   JUMP,                 3, "jne32")
INSN(JNE32_X,            0x5e, ANY, ANY, ANY, 0,
	JMP,      JNE,       32, REG,  DS,   NONE,   JUMP,                 3, "jne32")
INSN(JSGT32_K,           0x66, ANY, 0,   ANY, ANY,
	JMP,      JSGT,      32, IMM,  D,    NONE,   JUMP|SIGNED,          3, "jsgt32")
INSN(JSGT32_X,           0x6e, ANY, ANY, ANY, 0,
	JMP,      JSGT,      32, REG,  DS,   NONE,   JUMP|SIGNED,          3, "jsgt32")
INSN(JSGE32_K,           0x76, ANY, 0,   ANY, ANY,
	JMP,      JSGE,      32, IMM,  D,    NONE,   JUMP|SIGNED,          3, "jsge32")
INSN(JSGE32_X,           0x7e, ANY, ANY, ANY, 0,
	JMP,      JSGE,      32, REG,  DS,   NONE,   JUMP|SIGNED,          3, "jsge32")
INSN(JLT32_K,            0xa6, ANY, 0,   ANY, ANY,
	JMP,      JLT,       32, IMM,  D,    NONE,   JUMP,                 3, "jlt32")
INSN(JLT32_X,            0xae, ANY, ANY, ANY, 0,
	JMP,      JLT,       32, REG,  DS,   NONE,   JUMP,                 3, "jlt32")
INSN(JLE32_K,            0xb6, ANY, 0,   ANY, ANY,
	JMP,      JLE,       32, IMM,  D,    NONE,   JUMP,                 3, "jle32")
INSN(JLE32_X,            0xbe, ANY, ANY, ANY, 0,
	JMP,      JLE,       32, REG,  DS,   NONE,   JUMP,                 3, "jle32")
INSN(JSLT32_K,           0xc6, ANY, 0,   ANY, ANY,
	JMP,      JSLT,      32, IMM,  D,    NONE,   JUMP|SIGNED,          3, "jslt32")
INSN(JSLT32_X,           0xce, ANY, ANY, ANY, 0,
	JMP,      JSLT,      32, REG,  DS,   NONE,   JUMP|SIGNED,          3, "jslt32")
INSN(JSLE32_K,           0xd6, ANY, 0,   ANY, ANY,
	JMP,      JSLE,      32, IMM,  D,    NONE,   JUMP|SIGNED,          3, "jsle32")
INSN(JSLE32_X,           0xde, ANY, ANY, ANY, 0,
	JMP,      JSLE,      32, REG,  DS,   NONE,   JUMP|SIGNED,          3, "jsle32")
INSN(JA,                 0x05, 0,   0,   ANY, 0,
	JA,       NONE,      16, NONE, NONE, NONE,   JUMP,                 1, "ja")
INSN(JA32,               0x06, 0,   0,   0,   ANY,
	JA,       NONE,      32, NONE, NONE, NONE,   JUMP|FAR,             4, "ja32")
INSN(MAY_GOTO,           0xe5, 0,   0,   ANY, 0,
	MAY_GOTO, NONE,      16, NONE, NONE, NONE,   JUMP,                 4, "may_goto")
INSN(CALL_HELPER,        0x85, 0,   0,   0,   ANY,
	CALL,     HELPER,    32, IMM,  ARGS, CALLER, NONE,                 1, "call")
INSN(CALL_LOCAL,         0x85, 0,   1,   0,   ANY,
	CALL,     LOCAL,     32, IMM,  ARGS, CALLER, FAR,                  3, "call local")
INSN(EXIT,               0x95, 0,   0,   0,   0,
	EXIT,     NONE,      64, NONE, R0,   NONE,   NONE,                 1, "exit")
INSN(LDX8,               0x71, ANY, ANY, ANY, 0,
	LOAD,     NONE,      8,  REG,  S,    D,      NONE,                 1, "ldxb")
INSN(LDX16,              0x69, ANY, ANY, ANY, 0,
	LOAD,     NONE,      16, REG,  S,    D,      NONE,                 1, "ldxh")
INSN(LDX32,              0x61, ANY, ANY, ANY, 0,
	LOAD,     NONE,      32, REG,  S,    D,      NONE,                 1, "ldxw")
INSN(LDX64,              0x79, ANY, ANY, ANY, 0,
	LOAD,     NONE,      64, REG,  S,    D,      NONE,                 1, "ldxdw")
INSN(LDXS8,              0x91, ANY, ANY, ANY, 0,
	LOAD,     NONE,      8,  REG,  S,    D,      SIGNED,               4, "ldxsb")
INSN(LDXS16,             0x89, ANY, ANY, ANY, 0,
	LOAD,     NONE,      16, REG,  S,    D,      SIGNED,               4, "ldxsh")
INSN(LDXS32,             0x81, ANY, ANY, ANY, 0,
	LOAD,     NONE,      32, REG,  S,    D,      SIGNED,               4, "ldxsw")
INSN(ST8,                0x72, ANY, 0,   ANY, ANY,
	STORE,    NONE,      8,  IMM,  D,    NONE,   NONE,                 1, "stb")
INSN(ST16,               0x6a, ANY, 0,   ANY, ANY,
	STORE,    NONE,      16, IMM,  D,    NONE,   NONE,                 1, "sth")
INSN(ST32,               0x62, ANY, 0,   ANY, ANY,
	STORE,    NONE,      32, IMM,  D,    NONE,   NONE,                 1, "stw")
INSN(ST64,               0x7a, ANY, 0,   ANY, ANY,
	STORE,    NONE,      64, IMM,  D,    NONE,   NONE,                 1, "stdw")
INSN(STX8,               0x73, ANY, ANY, ANY, 0,
	STORE,    NONE,      8,  REG,  DS,   NONE,   NONE,                 1, "stxb")
INSN(STX16,              0x6b, ANY, ANY, ANY, 0,
	STORE,    NONE,      16, REG,  DS,   NONE,   NONE,                 1, "stxh")
INSN(STX32,              0x63, ANY, ANY, ANY, 0,
	STORE,    NONE,      32, REG,  DS,   NONE,   NONE,                 1, "stxw")
INSN(STX64,              0x7b, ANY, ANY, ANY, 0,
	STORE,    NONE,      64, REG,  DS,   NONE,   NONE,                 1, "stxdw")
INSN(ATOMIC_ADD32,       0xc3, ANY, ANY, ANY, 0x00,
	ATOMIC,   ADD,       32, REG,  DS,   NONE,   NONE,                 1, "lock add32")
INSN(ATOMIC_OR32,        0xc3, ANY, ANY, ANY, 0x40,
	ATOMIC,   OR,        32, REG,  DS,   NONE,   NONE,                 3, "lock or32")
INSN(ATOMIC_AND32,       0xc3, ANY, ANY, ANY, 0x50,
	ATOMIC,   AND,       32, REG,  DS,   NONE,   NONE,                 3, "lock and32")
INSN(ATOMIC_XOR32,       0xc3, ANY, ANY, ANY, 0xa0,
	ATOMIC,   XOR,       32, REG,  DS,   NONE,   NONE,                 3, "lock xor32")
INSN(ATOMIC_FETCH_ADD32, 0xc3, ANY, ANY, ANY, 0x01,
	ATOMIC,   ADD,       32, REG,  DS,   S,      FETCH,                3, "lock fetch add32")
INSN(ATOMIC_FETCH_OR32,  0xc3, ANY, ANY, ANY, 0x41,
	ATOMIC,   OR,        32, REG,  DS,   S,      FETCH,                3, "lock fetch or32")
INSN(ATOMIC_FETCH_AND32, 0xc3, ANY, ANY, ANY, 0x51,
	ATOMIC,   AND,       32, REG,  DS,   S,      FETCH,                3, "lock fetch and32")
INSN(ATOMIC_FETCH_XOR32, 0xc3, ANY, ANY, ANY, 0xa1,
	ATOMIC,   XOR,       32, REG,  DS,   S,      FETCH,                3, "lock fetch xor32")
INSN(ATOMIC_XCHG32,      0xc3, ANY, ANY, ANY, 0xe1,
	ATOMIC,   XCHG,      32, REG,  DS,   S,      FETCH,                3, "lock xchg32")
INSN(ATOMIC_CMPXCHG32,   0xc3, ANY, ANY, ANY, 0xf1,
	ATOMIC,   CMPXCHG,   32, REG,  DS0,  R0,     FETCH,                3, "lock cmpxchg32")
INSN(ATOMIC_ADD64,       0xdb, ANY, ANY, ANY, 0x00,
	ATOMIC,   ADD,       64, REG,  DS,   NONE,   NONE,                 1, "lock add")
INSN(ATOMIC_OR64,        0xdb, ANY, ANY, ANY, 0x40,
	ATOMIC,   OR,        64, REG,  DS,   NONE,   NONE,                 3, "lock or")
INSN(ATOMIC_AND64,       0xdb, ANY, ANY, ANY, 0x50,
	ATOMIC,   AND,       64, REG,  DS,   NONE,   NONE,                 3, "lock and")
INSN(ATOMIC_XOR64,       0xdb, ANY, ANY, ANY, 0xa0,
	ATOMIC,   XOR,       64, REG,  DS,   NONE,   NONE,                 3, "lock xor")
INSN(ATOMIC_FETCH_ADD64, 0xdb, ANY, ANY, ANY, 0x01,
	ATOMIC,   ADD,       64, REG,  DS,   S,      FETCH,                3, "lock fetch add")
INSN(ATOMIC_FETCH_OR64,  0xdb, ANY, ANY, ANY, 0x41,
	ATOMIC,   OR,        64, REG,  DS,   S,      FETCH,                3, "lock fetch or")
INSN(ATOMIC_FETCH_AND64, 0xdb, ANY, ANY, ANY, 0x51,
	ATOMIC,   AND,       64, REG,  DS,   S,      FETCH,                3, "lock fetch and")
INSN(ATOMIC_FETCH_XOR64, 0xdb, ANY, ANY, ANY, 0xa1,
	ATOMIC,   XOR,       64, REG,  DS,   S,      FETCH,                3, "lock fetch xor")
INSN(ATOMIC_XCHG64,      0xdb, ANY, ANY, ANY, 0xe1,
	ATOMIC,   XCHG,      64, REG,  DS,   S,      FETCH,                3, "lock xchg")
INSN(ATOMIC_CMPXCHG64,   0xdb, ANY, ANY, ANY, 0xf1,
	ATOMIC,   CMPXCHG,   64, REG,  DS0,  R0,     FETCH,                3, "lock cmpxchg")
INSN(LOAD_ACQ8,          0xd3, ANY, ANY, ANY, 0x100,
	LOAD,     NONE,      8,  REG,  S,    D,      ORDERED,              4, "load_acquire8")
INSN(STORE_REL8,         0xd3, ANY, ANY, ANY, 0x110,
	STORE,    NONE,      8,  REG,  DS,   NONE,   ORDERED,              4, "store_release8")
INSN(LOAD_ACQ16,         0xcb, ANY, ANY, ANY, 0x100,
	LOAD,     NONE,      16, REG,  S,    D,      ORDERED,              4, "load_acquire16")
INSN(STORE_REL16,        0xcb, ANY, ANY, ANY, 0x110,
	STORE,    NONE,      16, REG,  DS,   NONE,   ORDERED,              4, "store_release16")
INSN(LOAD_ACQ32,         0xc3, ANY, ANY, ANY, 0x100,
	LOAD,     NONE,      32, REG,  S,    D,      ORDERED,              4, "load_acquire32")
INSN(STORE_REL32,        0xc3, ANY, ANY, ANY, 0x110,
	STORE,    NONE,      32, REG,  DS,   NONE,   ORDERED,              4, "store_release32")
INSN(LOAD_ACQ64,         0xdb, ANY, ANY, ANY, 0x100,
	LOAD,     NONE,      64, REG,  S,    D,      ORDERED,              4, "load_acquire64")
INSN(STORE_REL64,        0xdb, ANY, ANY, ANY, 0x110,
	STORE,    NONE,      64, REG,  DS,   NONE,   ORDERED,              4, "store_release64")
INSN(LDDW_IMM,           0x18, ANY, 0,   0,   ANY,
	LDDW,     IMM,       64, IMM,  NONE, D,      NONE,                 1, "lddw")
INSN(LDDW_MAP,           0x18, ANY, 1,   0,   ANY,
	LDDW,     MAP,       64, IMM,  NONE, D,      NONE,                 1, "lddw map")
INSN(LDDW_MAP_VALUE,     0x18, ANY, 2,   0,   ANY,
	LDDW,     MAP_VALUE, 64, IMM,  NONE, D,      NONE,                 1, "lddw map_value")
INSN(LDDW_FUNC,          0x18, ANY, 4,   0,   ANY,
	LDDW,     FUNC,      64, IMM,  NONE, D,      FAR,                  1, "lddw func")

#undef INSN
