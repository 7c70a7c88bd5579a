# SPDX-License-Identifier: MIT
# twin: what it keeps is known
# expect: accept
find @counts
ldxdw %r1, [%r0]
lddw %r2, 0x700000000
and %r1, 7
or %r1, %r2
movsx3264 %r1, %r1
add %r0, %r1
ldxb %r2, [%r0]
