# SPDX-License-Identifier: MIT
# expect: accept
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxdw %r1, [%r0]
ldxdw %r2, [%r0+8]
div %r1, %r2
mod %r1, %r2
sdiv %r1, %r2
smod32 %r1, %r2
out:
mov %r0, 0
exit
