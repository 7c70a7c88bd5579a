# SPDX-License-Identifier: MIT
# while (flag) { flag = 0; for each number: flag = 1; }
# expect: reject endless_loop 2
ldxw %r7, [%r1+28]
mov %r6, 1 # near: mov %r6, 0
again:
jeq %r6, 0, out
mov %r6, 0
iter_new -8, 0, %r7
next:
iter_next -8
jeq %r0, 0, done
call 7
jset %r0, 1, j
j:
mov %r6, 1
ja next
done:
iter_end -8
ja again
