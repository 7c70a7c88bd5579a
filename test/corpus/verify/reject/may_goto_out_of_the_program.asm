# SPDX-License-Identifier: MIT
# 
# expect: reject jump_range 1
mov %r0, 0
may_goto +9
exit
