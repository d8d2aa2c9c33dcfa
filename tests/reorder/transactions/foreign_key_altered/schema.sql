CREATE TABLE public.parent (id int, x int);
CREATE TABLE public.child (id int, parent_id int);
ALTER TABLE ONLY public.child ADD CONSTRAINT names_parent FOREIGN KEY (parent_id) REFERENCES public.parent(id) ON DELETE CASCADE;
