# SPDX-License-Identifier: MIT
# expect: accept
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @seen
call 1
jeq %r0, 0, out
mov %r2, %r0
lddw map %r1, @counts
call 1
out:
mov %r0, 0
exit
