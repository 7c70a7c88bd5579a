# SPDX-License-Identifier: MIT
# twin: what it keeps is known
# expect: accept
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxdw %r1, [%r0]
lddw %r2, 0x700000000
and %r1, 7
or %r1, %r2
movsx3264 %r1, %r1
add %r0, %r1
ldxb %r2, [%r0]
out:
mov %r0, 0
exit
