# SPDX-License-Identifier: MIT
# expect: reject uninit 0
exit
