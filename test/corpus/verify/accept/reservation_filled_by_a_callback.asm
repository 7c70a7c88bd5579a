# SPDX-License-Identifier: MIT
# expect: accept
reserve 16
jeq %r0, 0, out
mov %r6, %r0
mov %r1, 20
lddw func %r2, cb
mov %r3, %r6
mov %r4, 0
call 181
submit %r6
out:
mov %r0, 0
exit
cb:
stxdw [%r2], %r1
mov %r0, 0
exit
