# SPDX-License-Identifier: MIT
# Two bytes below 256: the upper one is 0 and stays it.
# expect: accept
ldxdw %r2, [%r1+8]
and %r2, 255
stdw [%r10-8], -1
stxh [%r10-8], %r2
stb [%r10-8], 1
ldxb %r5, [%r10-7]
read_at @bss, 63, %r5
mov %r0, 0
exit
