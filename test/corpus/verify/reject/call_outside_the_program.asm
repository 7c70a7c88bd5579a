# SPDX-License-Identifier: MIT
# golden
# expect: reject call_target 0
call local +9 # near: call local f
mov %r0, 0
exit
# near: f:
# near: mov %r0, 0
# near: exit
