# SPDX-License-Identifier: MIT
# golden
# expect: reject shift_width 1
mov %r0, 1
lsh %r0, 64 # near: lsh %r0, 63
exit
