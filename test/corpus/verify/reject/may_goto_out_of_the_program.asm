# SPDX-License-Identifier: MIT
# may goto out of the program
# expect: reject jump_range 1
mov %r0, 0
may_goto +9 # near: may_goto +0
exit
