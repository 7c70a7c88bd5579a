# SPDX-License-Identifier: MIT
# a loop in a function keeps its back edge at each call
# expect: reject endless_loop 8
mov %r6, %r1
mov %r1, 0
call local f
ldxw %r1, [%r6+28]
call local f
mov %r0, 0
exit
f:
jeq %r1, 0, done
again:
ja again # near: ja done
done:
mov %r0, 0
exit
