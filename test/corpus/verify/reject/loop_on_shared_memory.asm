# SPDX-License-Identifier: MIT
# expect: reject endless_loop 7
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
loop:
ldxdw %r1, [%r0]
jne %r1, 0, loop # near: jne %r1, 0, out
out:
mov %r0, 0
exit
