//# role: companion
//# lang: c
//# links: counting_api.c
/* counting_binding: a library that is linked with a tool, as the modules for Python are that come with some. */
int counting_api_barriers(void);

int counting_binding_barriers(void)
{
    return counting_api_barriers();
}
