# SPDX-License-Identifier: MIT
# expect: reject call_target 0
call local +9
mov %r0, 0
exit
