# SPDX-License-Identifier: MIT
# while (flag) { flag = 0; for each number: flag = 1; }
# expect: reject endless_loop 2
ldxw %r7, [%r1+28]
mov %r6, 1 # near: mov %r6, 0
again:
jeq %r6, 0, out
mov %r6, 0
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, %r7
call 0x10001
next:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, done
call 7
jset %r0, 1, j
j:
mov %r6, 1
ja next
done:
mov %r1, %r10
add %r1, -8
call 0x10003
ja again
out:
mov %r0, 0
exit
