# SPDX-License-Identifier: MIT
# expect: accept
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
mov %r6, %r0
mov %r7, 0
l:
may_goto done
ldxdw %r1, [%r6]
add %r7, %r1
ja l
done:
mov %r0, 0
exit
out:
mov %r0, 0
exit
