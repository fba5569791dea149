extern int bgp_placeholder; int bgp_placeholder;
