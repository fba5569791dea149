extern int netns_placeholder; int netns_placeholder;
