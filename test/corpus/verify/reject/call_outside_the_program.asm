# SPDX-License-Identifier: MIT
# golden
# expect: reject call_target 0
call local +9
mov %r0, 0
exit
