# SPDX-License-Identifier: MIT
# Of a number below 8 in four bytes three are 0 and stay so.
# expect: accept
ldxw %r2, [%r1+32]
and %r2, 7
stxw [%r10-8], %r2
stb [%r10-8], 1
ldxb %r5, [%r10-7]
read_at @bss, 63, %r5
mov %r0, 0
exit
