# SPDX-License-Identifier: MIT
# expect: accept
mov %r6, %r1
reserve 16
jeq %r0, 0, out
mov %r1, %r0
ldxw %r7, [%r6+32]
jgt %r7, 4, out2
mov %r2, 0
call 132
out:
mov %r0, 0
exit
out2:
mov %r2, 0
call 133
ja out
