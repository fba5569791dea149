extern int fared_placeholder; int fared_placeholder;
