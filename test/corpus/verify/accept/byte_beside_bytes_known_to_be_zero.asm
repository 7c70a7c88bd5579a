# SPDX-License-Identifier: MIT
# A narrow number and zeros, read together.
# expect: accept
stdw [%r10-8], 0
ldxdw %r2, [%r1+8]
and %r2, 3
stxb [%r10-8], %r2
stb [%r10-8], 1
ldxw %r5, [%r10-8]
read_at @bss, 62, %r5
mov %r0, 0
exit
