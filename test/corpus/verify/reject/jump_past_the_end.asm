# SPDX-License-Identifier: MIT
# expect: reject jump_range 0
ja +7 # near: ja +0
mov %r0, 0
exit
