# SPDX-License-Identifier: MIT
# Frames are added up where a callback is named, so there it must be used.
# expect: reject callback 9
lddw func %r1, cb
call local f # near:
mov %r0, 0 # near:
exit # near:
f:
mov %r2, %r1
mov %r1, 10
mov %r3, 0
mov %r4, 0
call 181
mov %r0, 0
exit
