# SPDX-License-Identifier: MIT
# golden
# expect: reject call_depth 21
call local f1 # near:
mov %r0, 0 # near:
exit # near:
f1:
call local f2
mov %r0, 0
exit
f2:
call local f3
mov %r0, 0
exit
f3:
call local f4
mov %r0, 0
exit
f4:
call local f5
mov %r0, 0
exit
f5:
call local f6
mov %r0, 0
exit
f6:
call local f7
mov %r0, 0
exit
f7:
call local f8
mov %r0, 0
exit
f8:
mov %r0, 0
exit
