# SPDX-License-Identifier: MIT
# golden
# expect: reject jump_middle 1
mov %r0, 0
jeq %r0, 0, +1 # near: jeq %r0, 0, +0
lddw %r0, 0x1234567890
exit
